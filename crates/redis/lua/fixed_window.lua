-- Fixed window: a count that starts over when its window ends.
-- Units above the limit are debt: they count in the windows that follow.

do
  -- The end of the window that a first charge now would fall into.
  local function fresh_end(op)
    if op.kind == FIXED_EPOCH then
      return now - now % op.span + op.span
    end
    return now + op.span
  end

  -- Moves on to the window that holds now; each one passed pays off debt by one limit.
  local function roll(op, s)
    if now < s.window_end then
      return
    end
    local passed = div(now - s.window_end, op.span)
    local debt = max(0, s.debt - op.limit * passed)
    s.count = min(debt, op.limit)
    s.debt = debt - s.count
    s.window_end = s.window_end + (passed + 1) * op.span
  end

  -- A window stored ahead of now, or left by another quota, counts as the present one.
  local function reanchor(op, s)
    local fresh = fresh_end(op)
    if s.count == 0 and s.debt == 0 then
      s.window_end = fresh
      return
    end
    local ahead = s.window_end > now + op.span
    local off_grid = op.kind == FIXED_EPOCH and s.window_end ~= fresh
    if ahead or off_grid then
      s.window_end, s.rewound = fresh, true
    end
  end

  local function load(op)
    local window_end, count, debt = read_cell(op)
    if not window_end or count + debt > MAX_UNITS then
      return nil
    end
    local s = { rewound = false, window_end = window_end, count = count, debt = debt }
    if count + debt > 0 then
      roll(op, s)
    end
    reanchor(op, s)
    return s
  end

  local function room(op, s)
    return op.limit - s.count - s.debt
  end

  local function charge(_, s, cost)
    s.count = s.count + cost
  end

  local function write(op, s)
    if s.count + s.debt == 0 then
      return erase(op)
    end
    local paid_off = s.window_end + div_ceil(s.debt, op.limit) * op.span
    write_cell(op, s.window_end, s.count, s.debt, 0, paid_off)
  end

  -- What settles and gives back needs.
  local function settling(algorithm, room_and_debt)
    local function give(_, s, units)
      local debt = min(units, s.debt)
      s.debt = s.debt - debt
      s.count = s.count - min(units - debt, s.count)
    end

    function algorithm.lower(op, s, units)
      if op.receipt_mark == s.window_end then
        give(op, s, units)
      end
    end

    function algorithm.raise(op, s, units, most_debt)
      local count, debt = room_and_debt(units, room(op, s), s.debt, most_debt)
      s.count, s.debt = s.count + count, s.debt + debt
    end

    algorithm.give = give
  end

  algorithms[FIXED_EPOCH] = { load = load, room = room, charge = charge, write = write, settling = settling }
  algorithms[FIXED_FIRST] = algorithms[FIXED_EPOCH]
end
