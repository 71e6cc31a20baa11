-- Token bucket, which is GCRA: units owed, and the anchor after which they come back.
-- One unit takes `span` us and `r` n-ths of one.

do
  -- The instant `k` units after another, as whole us and n-ths.
  local function later(op, at, part, k)
    local parts = k * op.r + part
    local rest = parts % op.n
    local due = at + k * op.span + (parts - rest) / op.n
    if due < HORIZON then
      return due, rest
    end
    return HORIZON, 0
  end

  -- Whether `k` units take at most `us` and `part` n-ths, when `head` n-ths have passed already.
  local function come_within(op, k, head, us, part)
    local parts = k * op.r + head
    local whole = k * op.span + div(parts, op.n)
    return whole < us or (whole == us and parts % op.n <= part)
  end

  -- How many whole units come in `elapsed` us less `part` n-ths, as far as `most`.
  local function units_in(op, elapsed, part, most)
    local d = op.span * op.n + op.r
    if elapsed * op.n <= EXACT then
      return min(most, div(max(0, elapsed * op.n - part), d))
    end
    -- Estimated in doubles, which is off by little, and put right by exact spans.
    local k = min(most, math.floor(elapsed / d * op.n))
    while k > 0 and not come_within(op, k, part, elapsed, 0) do
      k = k - 1
    end
    while k < most and come_within(op, k + 1, part, elapsed, 0) do
      k = k + 1
    end
    return k
  end

  local function load(op)
    local at, part, owed = read_cell(op)
    if not at or owed > MAX_UNITS then
      return nil
    end
    local full, full_part, rewound = 0, 0, false
    if owed > 0 then
      if part >= op.n then
        -- Another quota has other n-ths: what does not fit counts as one us more.
        at, part = at + 1, 0
      end
      if now < at then
        rewound, at, part = true, now, 0
      end
      full, full_part = later(op, at, part, owed)
    end
    if full < now or (full == now and full_part == 0) then
      return { rewound = false, at = now, part = 0, owed = 0, full = now, full_part = 0 }
    end
    -- The anchor moves over every unit that has come back by now.
    local back = units_in(op, now - at, part, owed)
    if back > 0 then
      at, part = later(op, at, part, back)
    end
    return { rewound = rewound, at = at, part = part, owed = owed - back, full = full, full_part = full_part }
  end

  local function room(op, s)
    return op.limit - s.owed
  end

  local function charge(op, s, cost)
    s.owed = s.owed + cost
    s.full, s.full_part = later(op, s.full, s.full_part, cost)
  end

  local function write(op, s)
    if s.owed == 0 then
      return erase(op)
    end
    write_cell(op, s.at, s.part, s.owed, 0, s.full + (s.full_part > 0 and 1 or 0))
  end

  -- What settles and gives back needs.
  local function settling(algorithm)
    -- How many units, the last begun one included, come in `elapsed` us and `part` n-ths, as far as
    -- `most`: one more than those that are over before that.
    local function units_begun_in(op, elapsed, part, most)
      local d = op.span * op.n + op.r
      if elapsed * op.n + part <= EXACT then
        return min(most, div_ceil(elapsed * op.n + part, d))
      end
      local k = min(most, math.floor(elapsed / d * op.n))
      while k > 0 and not come_within(op, k, 0, elapsed, part) do
        k = k - 1
      end
      while k < most and come_within(op, k + 1, 0, elapsed, part) do
        k = k + 1
      end
      local us, left = later(op, 0, 0, k)
      local exactly = us == elapsed and left == part
      return min(most, exactly and k or k + 1)
    end

    local function give(op, s, units)
      s.owed = max(0, s.owed - units)
      if s.owed == 0 then
        s.at, s.part, s.full, s.full_part = now, 0, now, 0
      else
        s.full, s.full_part = later(op, s.at, s.part, s.owed)
      end
    end

    function algorithm.lower(op, s, units)
      -- Plain subtraction would hand out units that have come back already: take, wait, cancel would
      -- let a burst pass twice. A clock that went back counts as standing still.
      local due, part = op.receipt_mark, op.receipt_part
      if part >= op.n then
        due, part = due + 1, 0
      end
      local ahead = due - max(now, op.receipt_at)
      if ahead >= 0 then
        give(op, s, units_begun_in(op, ahead, part, units))
      end
    end

    function algorithm.raise(op, s, units, most_debt)
      charge(op, s, min(units, max(0, op.limit + most_debt - s.owed)))
    end

    algorithm.give = give
  end

  algorithms[BUCKET] = { load = load, room = room, charge = charge, write = write, settling = settling }
end
