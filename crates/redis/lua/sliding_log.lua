-- Sliding-window log: every charge keeps its stamp and leaves exactly one window later.
--
-- Entries carry running sums, so that a decision is a search in the string, of which only what it
-- needs is read, and a charge is an append: neither takes longer when the log is long. Entries that a
-- decision went by are touched: they are told to the caller, who explains the decision with them.

do
  -- So many entries are read at once. A log that is no longer is written as a whole.
  local NEAR = 32
  local NEAR_BYTES = HEAD_BYTES + NEAR * ENTRY_BYTES

  -- Where the entry that is `index` from the first stands, from 0.
  local function offset(op, index)
    return HEAD_BYTES + (op.first + index) * ENTRY_BYTES
  end

  local function bytes_of(op, index, many)
    local from = offset(op, index)
    return call('GETRANGE', op.key, from, from + many * ENTRY_BYTES - 1)
  end

  -- Stamp, sum and cost of an entry.
  local function entry(op, index)
    if op.is_whole then
      return unpack_bytes(ENTRY, op.old, offset(op, index) + 1)
    elseif index < NEAR then
      op.near = op.near or bytes_of(op, 0, min(NEAR, op.count))
      return unpack_bytes(ENTRY, op.near, index * ENTRY_BYTES + 1)
    end
    op.far[index] = op.far[index] or bytes_of(op, index, 1)
    return unpack_bytes(ENTRY, op.far[index])
  end

  local function touch(op, index)
    if index >= 0 and index < op.count then
      op.touched[index] = true
    end
  end

  -- The first index from `low` on for which `is_before` does not hold; looks near the front first.
  local function search(op, low, is_before)
    local high, step = op.count, 1
    while low + step <= high do
      if not is_before(low + step - 1) then
        high = low + step - 1
      else
        low, step = low + step, step * 2
      end
    end
    while low < high do
      local middle = div(low + high - (low + high) % 2, 2)
      if is_before(middle) then
        low = middle + 1
      else
        high = middle
      end
    end
    return low
  end

  -- The entry with which `units` units in force have left.
  local function index_of(op, s, units)
    return search(op, s.gone, function(index)
      local _, sum = entry(op, index)
      return (sum - s.base) % WRAP < units
    end)
  end

  -- Reads the log, once; false if what stands there is none.
  local function read(op)
    if op.old or op.is_over then
      return true
    end
    local bytes = read_string('GETRANGE', op.key, 0, NEAR_BYTES - 1)
    if bytes == '' then
      return call('EXISTS', op.key) == 0
    elseif not bytes or not read_head(op, bytes) then
      return false
    elseif op.is_over then
      return true
    end
    op.is_whole, op.far, op.touched = #bytes < NEAR_BYTES, {}, {}
    op.bytes = op.is_whole and #bytes or call('STRLEN', op.key)
    return offset(op, op.count) <= op.bytes
  end

  local function load(op)
    if not read(op) then
      return nil
    end
    local s = { rewound = false, raw = now, gone = 0, live = 0, base = 0, used = 0, last = now }
    if not op.old then
      return s
    end
    local raw = op.raw + max(0, now - op.at)
    s.gone = search(op, 0, function(index)
      local stamp = entry(op, index)
      return stamp + op.span <= raw
    end)
    if s.gone == op.count then
      return s
    end
    local _, sum, cost = entry(op, s.gone)
    s.base = (sum - cost) % WRAP
    s.last, sum = entry(op, op.count - 1)
    s.used = (sum - s.base) % WRAP
    -- With nothing in force the log starts over, and raw time is real time again.
    if s.used > 0 then
      s.raw, s.live, s.rewound = raw, op.count - s.gone, now < op.at
      if not op.is_whole then
        touch(op, s.gone)
        touch(op, op.count - 1)
        touch(op, op.count - 2)
        touch(op, index_of(op, s, 1))
      end
    end
    if s.used <= MAX_UNITS and s.last <= EXACT then
      return s
    end
  end

  local function room(op, s)
    return op.limit - s.used
  end

  local function explain_wait(op, s, cost)
    if s.live > 0 and not op.is_whole then
      touch(op, index_of(op, s, s.used + cost - op.limit))
    end
  end

  -- The debt whose stamp still lies ahead: units, stamp.
  local function debt_of(op, s)
    if s.live > 0 then
      local stamp, _, cost = entry(op, op.count - 1)
      if stamp > s.raw then
        return cost, stamp
      end
    end
    return 0, 0
  end

  -- Appends `units` at now, before a debt of `debt` units stamped `debt_stamp`.
  local function append(op, s, units, debt, debt_stamp)
    local owed = debt_of(op, s)
    local keep = s.gone + s.live - (owed > 0 and 1 or 0)
    local sum, cost = s.base, units
    if keep > s.gone then
      local stamp, before, same = entry(op, keep - 1)
      if stamp == s.raw then
        keep, cost = keep - 1, cost + same
        before = keep > s.gone and select(2, entry(op, keep - 1)) or s.base
      end
      sum = before
    end
    sum = (sum + cost) % WRAP
    local added = ''
    s.last = s.raw
    if cost > 0 then
      added = pack(ENTRY, s.raw, sum, cost)
    end
    if debt > 0 then
      added = added .. pack(ENTRY, debt_stamp, (sum + debt) % WRAP, debt)
      s.last = debt_stamp
    end
    s.splice = { drop = s.gone, keep = keep, added = added }
  end

  local function charge(op, s, cost)
    local debt, stamp = debt_of(op, s)
    append(op, s, cost, debt, stamp)
    s.used = s.used + cost
  end

  -- The entries from the lowered one on, whose sums are less.
  local function lowered(bytes, units)
    local entries = {}
    for from = 1, #bytes, ENTRY_BYTES do
      local stamp, sum, cost = unpack_bytes(ENTRY, bytes, from)
      cost = from == 1 and cost - units or cost
      entries[#entries + 1] = pack(ENTRY, stamp, (sum - units) % WRAP, cost)
    end
    return table.concat(entries)
  end

  -- A short log, or none so far.
  local function write_whole(op, s, until_us)
    local entries, splice = '', s.splice
    if op.old then
      entries = op.old:sub(offset(op, 0) + 1, offset(op, op.count))
    end
    if splice then
      local from, to = splice.drop * ENTRY_BYTES + 1, splice.keep * ENTRY_BYTES
      entries = entries:sub(from, to) .. splice.added
    elseif s.lowered then
      local before = s.lowered.index * ENTRY_BYTES
      entries = entries:sub(1, before) .. lowered(entries:sub(before + 1), s.lowered.units)
    end
    local bytes = head(op, s.raw, #entries / ENTRY_BYTES, 0, until_us) .. entries
    call('SET', op.key, bytes, expiry(until_us))
  end

  -- A long log: only what changes, unless most of the string is no longer in use.
  local function write_parts(op, s, until_us)
    local first, count = op.first, op.count
    local splice = s.splice
    if splice then
      call('SETRANGE', op.key, offset(op, splice.keep), splice.added)
      count = splice.keep + #splice.added / ENTRY_BYTES - splice.drop
      first = first + splice.drop
    elseif s.lowered then
      local index, units = s.lowered.index, s.lowered.units
      local later = bytes_of(op, index, count - index)
      call('SETRANGE', op.key, offset(op, index), lowered(later, units))
    end
    local idle = (op.bytes - HEAD_BYTES) / ENTRY_BYTES - count
    if idle > max(count, NEAR) then
      local from = HEAD_BYTES + first * ENTRY_BYTES
      local used = call('GETRANGE', op.key, from, from + count * ENTRY_BYTES - 1)
      call('SET', op.key, head(op, s.raw, count, 0, until_us) .. used, expiry(until_us))
      return
    end
    call('SETRANGE', op.key, 0, head(op, s.raw, first + count, first, until_us))
    local unit, ms = expiry(until_us)
    call(unit == 'PX' and 'PEXPIRE' or 'PEXPIREAT', op.key, ms)
  end

  local function write(op, s)
    if s.used == 0 then
      return erase(op)
    end
    local until_us = min(now + max(0, s.last + op.span - s.raw), HORIZON)
    if not op.old or op.is_whole then
      return write_whole(op, s, until_us)
    end
    write_parts(op, s, until_us)
  end

  -- What settles and gives back needs.
  local function settling(algorithm, room_and_debt)
    local function give(op, s, units)
      local given = min(units, s.used)
      if given == 0 then
        return
      end
      s.used = s.used - given
      -- The newest go first: what stays is everything up to the unit numbered `used`.
      local keep = index_of(op, s, s.used + 1)
      touch(op, keep)
      touch(op, keep - 1)
      s.splice = { drop = s.gone, keep = keep, added = '' }
      local before = s.base
      if keep > s.gone then
        s.last, before = entry(op, keep - 1)
      end
      local stays = (s.base + s.used - before) % WRAP
      if stays > 0 then
        s.last = entry(op, keep)
        s.splice.added = pack(ENTRY, s.last, (before + stays) % WRAP, stays)
      end
    end

    function algorithm.lower(op, s, units)
      if s.live == 0 then
        return
      end
      -- The latest stamp that the mark can stand for.
      local named = s.raw - (s.raw - op.receipt_mark) % HORIZON
      local index = search(op, s.gone, function(index)
        local stamp = entry(op, index)
        return stamp < named
      end)
      if index == op.count then
        return
      end
      local stamp, _, cost = entry(op, index)
      local given = min(units, cost)
      if stamp ~= named or given == 0 then
        return
      end
      touch(op, index)
      touch(op, index_of(op, s, given + 1))
      s.lowered = { index = index, units = given }
      s.used = s.used - given
    end

    function algorithm.raise(op, s, units, most_debt)
      local old_debt, stamp = debt_of(op, s)
      local plain, debt = room_and_debt(units, room(op, s), old_debt, most_debt)
      if debt > 0 then
        stamp = s.raw + op.span
      end
      append(op, s, plain, old_debt + debt, stamp)
      s.used = s.used + plain + debt
    end

    algorithm.give = give
  end

  -- What the caller needs of the old state: all of a short log; of a long one its head, and the
  -- entries that were touched.
  local function tell(op)
    if op.is_whole then
      return op.old
    end
    local indexes, parts = {}, { op.old:sub(1, HEAD_BYTES) }
    for index in pairs(op.touched) do
      indexes[#indexes + 1] = index
    end
    table.sort(indexes)
    for _, index in ipairs(indexes) do
      parts[#parts + 1] = pack(ENTRY, entry(op, index))
    end
    return table.concat(parts)
  end

  algorithms[LOG] = { load = load, room = room, charge = charge, write = write, settling = settling,
    explain_wait = explain_wait, tell = tell }
end
