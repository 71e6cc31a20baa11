-- Concurrency: units in flight, each held by somebody until it is given back or its lease ends.
-- Entries are holders: the end of the lease in raw time, an id, units; they stand in no order.

do
  local HALF = 2147483648 -- ids more than this ahead of another count as behind it

  -- Units of the live holders, and when the last of their leases ends.
  local function load(op)
    local bytes = read_string('GET', op.key)
    if bytes ~= nil and not (bytes and read_head(op, bytes) and op.first == 0
      and #bytes == HEAD_BYTES + op.count * ENTRY_BYTES) then
      return nil
    end
    local s = { raw = now, rewound = false, stored = 0, count = 0, units = 0, last = 0,
      stamps = {}, ids = {}, costs = {} }
    if not op.old then
      return s
    end
    local raw = op.raw + max(0, now - op.at)
    s.stored = op.count
    for index = 1, op.count do
      local stamp, id, cost = unpack_bytes(ENTRY, op.old, HEAD_BYTES + (index - 1) * ENTRY_BYTES + 1)
      s.stamps[index], s.ids[index], s.costs[index] = stamp, id, cost
      if stamp > raw then
        s.units, s.last = s.units + cost, max(s.last, stamp)
      end
    end
    if s.units > MAX_UNITS or s.last > EXACT then
      return nil
    end
    -- With nobody left it starts over, and raw time is real time again.
    if s.units > 0 then
      s.raw, s.count, s.rewound = raw, op.count, now < op.at
    end
    return s
  end

  local function find(op, s)
    if op.receipt_cost > 0 then
      for index = 1, s.count do
        if s.stamps[index] > s.raw and s.ids[index] == op.receipt_part then
          return index
        end
      end
    end
  end

  -- The low half of now, or, if somebody has that, what follows the furthest one ahead of it.
  local function free_id(s)
    local id = now % WRAP
    while true do
      local is_taken, furthest = false, 0
      for index = 1, s.count do
        local ahead = (s.ids[index] - id) % WRAP
        if s.stamps[index] > s.raw and ahead < HALF then
          is_taken, furthest = is_taken or ahead == 0, max(furthest, ahead)
        end
      end
      if not is_taken then
        return id
      end
      id = (id + furthest + 1) % WRAP
    end
  end

  local function fit(op, s, cost)
    if cost > op.limit then
      return IMPOSSIBLE
    end
    return s.units + cost <= op.limit and ALLOWED or DENIED
  end

  -- Puts a holder at `index`, or nobody: then the last one takes that place.
  local function place(s, index, stamp, id, cost)
    if not stamp then
      stamp, id, cost = s.stamps[s.stored], s.ids[s.stored], s.costs[s.stored]
      s.stored = s.stored - 1
      if index > s.stored then
        return
      end
    end
    s.stamps[index], s.ids[index], s.costs[index] = stamp, id, cost
    s.stored = max(s.stored, index)
  end

  -- Lets somebody in: in the place of one whose lease is over, if there is one.
  local function hold(op, s)
    local answer = fit(op, s, op.cost)
    if answer ~= ALLOWED then
      if s.rewound and answer == DENIED then
        op.edit = s
      end
      return answer
    end
    local id, stamp, index = free_id(s), s.raw + op.span, 1
    while index <= s.count and s.stamps[index] > s.raw do
      index = index + 1
    end
    s.stored = s.count
    place(s, index, stamp, id, op.cost)
    op.edit = s
    return answer
  end

  -- Lowers a holder to `op.cost`, never raises it. Who is gone has given everything back.
  local function settle(op, s)
    local index = find(op, s)
    if index and op.cost < s.costs[index] then
      if op.cost > 0 then
        s.costs[index] = op.cost
      else
        place(s, index)
      end
      op.edit = s
    end
    return SETTLED
  end

  -- Starts the lease of a holder anew.
  local function renew(op, s)
    local index = find(op, s)
    if not index then
      return UNKNOWN
    end
    s.stamps[index] = s.raw + op.span
    op.edit = s
    return SETTLED
  end

  local function decide(op)
    local act, s = op.act, load(op)
    if not s then
      return nil
    elseif act == HOLD and op.cost > 0 then
      return hold(op, s)
    elseif act == TAKE and op.cost > 0 then
      return IMPOSSIBLE
    elseif act == TAKE or act == HOLD or act == PEEK then
      return fit(op, s, op.cost)
    elseif act == SETTLE then
      return settle(op, s)
    elseif act == RENEW then
      return renew(op, s)
    elseif act == RESET then
      op.erases = true
    end
    return SETTLED
  end

  local function write(op, s)
    local entries, units, last = {}, 0, 0
    for index = 1, s.stored do
      local stamp, cost = s.stamps[index], s.costs[index]
      entries[index] = pack(ENTRY, stamp, s.ids[index], cost)
      if stamp > s.raw then
        units, last = units + cost, max(last, stamp)
      end
    end
    if units == 0 then
      return erase(op)
    end
    local until_us = min(now + max(0, last - s.raw), HORIZON)
    local bytes = head(op, s.raw, s.stored, 0, until_us) .. table.concat(entries)
    call('SET', op.key, bytes, expiry(until_us))
  end

  algorithms[CONCURRENCY] = { decide = decide, load = load, write = write }
end
