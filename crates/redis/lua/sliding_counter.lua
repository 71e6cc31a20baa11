-- Sliding-window counter: this window's count plus the previous one's, weighted by how much of it
-- still overlaps.

local MAX_COUNTER_UNITS = 30000000 -- the largest limit of a counter

do
  -- The first us of a window at which `units` of `fading` have faded: ceil(units * span / fading), in
  -- parts that stay exact.
  local function faded_at(op, units, fading)
    local rest = op.span % fading
    return units * ((op.span - rest) / fading) + div_ceil(units * rest, fading)
  end

  -- What the previous window still weighs, rounded up.
  local function carried(op, s)
    if s.prev == 0 then
      return 0
    end
    local elapsed = min(now - s.start, op.span)
    if s.prev * elapsed <= EXACT then
      return s.prev - div(s.prev * elapsed, op.span)
    end
    local faded = min(s.prev, math.floor(s.prev * (elapsed / op.span)))
    while faded > 0 and faded_at(op, faded, s.prev) > elapsed do
      faded = faded - 1
    end
    while faded < s.prev and faded_at(op, faded + 1, s.prev) <= elapsed do
      faded = faded + 1
    end
    return s.prev - faded
  end

  -- Brings the state to the window that holds now: each one passed makes the current count the
  -- previous one and pays off debt by one limit.
  local function roll(op, s)
    local elapsed = now - s.start
    if elapsed < op.span then
      return
    end
    local passed = div(elapsed, op.span)
    if passed == 1 then
      s.prev = s.cur
    else
      s.debt = max(0, s.debt - op.limit * (passed - 2))
      s.prev = min(s.debt, op.limit)
      s.debt = s.debt - s.prev
    end
    s.cur = min(s.debt, op.limit)
    s.debt = s.debt - s.cur
    s.start = s.start + passed * op.span
  end

  local function load(op)
    local start, prev, cur, debt = read_cell(op)
    if not start or max(prev, cur, debt) > MAX_COUNTER_UNITS then
      return nil
    end
    local s = { rewound = now < start, start = min(start, now), prev = prev, cur = cur, debt = debt }
    if prev + cur + debt > 0 then
      roll(op, s)
    end
    if s.prev == 0 and s.cur == 0 and s.debt == 0 then
      s.start = now - now % op.span
    end
    return s
  end

  local function room(op, s)
    return op.limit - carried(op, s) - s.cur - s.debt
  end

  local function charge(_, s, cost)
    s.cur = s.cur + cost
  end

  local function write(op, s)
    local windows = div_ceil(s.debt, op.limit) + 2
    if s.debt == 0 and s.cur == 0 then
      if s.prev == 0 then
        return erase(op)
      end
      windows = 1
    end
    write_cell(op, s.start, s.prev, s.cur, s.debt, s.start + windows * op.span)
  end

  -- What settles and gives back needs.
  local function settling(algorithm, room_and_debt)
    local function give(_, s, units)
      local debt = min(units, s.debt)
      local cur = min(units - debt, s.cur)
      s.debt, s.cur = s.debt - debt, s.cur - cur
      s.prev = s.prev - min(units - debt - cur, s.prev)
    end

    function algorithm.lower(op, s, units)
      if op.receipt_mark == s.start then
        give(op, s, min(units, s.debt + s.cur))
      elseif op.receipt_mark + op.span == s.start then
        s.prev = s.prev - min(units, s.prev)
      end
    end

    function algorithm.raise(op, s, units, most_debt)
      local cur, debt = room_and_debt(units, room(op, s), s.debt, most_debt)
      s.cur, s.debt = s.cur + cur, s.debt + debt
    end

    algorithm.give = give
  end

  algorithms[COUNTER] = { load = load, room = room, charge = charge, write = write, settling = settling }
end
