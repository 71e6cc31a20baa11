-- Token bucket, which is GCRA: units owed, and the anchor after which they come back.
-- One unit takes q us and r n-ths of one.

local function bucket()
  -- The instant `k` units after another, as whole us and n-ths.
  local function later(op, at, part, k)
    local parts = k * op.r + part
    local due = at + k * op.span + div(parts, op.n)
    if due < HORIZON then
      return due, parts % op.n
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
      return min(most, div(saturating_sub(elapsed * op.n, part), d))
    end
    -- Estimated in doubles, which is off by little, and put right by exact spans.
    local k = min(most, floor(elapsed / d * op.n))
    while k > 0 and not come_within(op, k, part, elapsed, 0) do
      k = k - 1
    end
    while k < most and come_within(op, k + 1, part, elapsed, 0) do
      k = k + 1
    end
    return k
  end

  local function full_us(s)
    return s.full + (s.full_part > 0 and 1 or 0)
  end

  local function read(op)
    return read_cell(op) and op.b <= MAX_UNITS
  end

  local function load(op)
    local s = { rewound = false, at = now, part = 0, owed = 0, full = now, full_part = 0 }
    local owed = op.b
    if owed == 0 then
      return s
    end
    local at, part = op.at, op.a
    if part >= op.n then
      -- Another quota has other n-ths: what does not fit counts as one us more.
      at, part = at + 1, 0
    end
    if now < at then
      s.rewound, at, part = true, now, 0
    end
    local full, full_part = later(op, at, part, owed)
    if full + (full_part > 0 and 1 or 0) <= now then
      return s
    end
    -- The anchor moves over every unit that has come back by now.
    local back = units_in(op, now - at, part, owed)
    if back > 0 then
      at, part = later(op, at, part, back)
    end
    s.at, s.part, s.owed, s.full, s.full_part = at, part, owed - back, full, full_part
    return s
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
    write_cell(op, s.at, s.part, s.owed, 0, full_us(s))
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
      local k = min(most, floor(elapsed / d * op.n))
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
      s.owed = saturating_sub(s.owed, units)
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
      charge(op, s, min(units, saturating_sub(op.limit + most_debt, s.owed)))
    end

    algorithm.give = give
  end

  return { read = read, load = load, room = room, charge = charge, write = write, settling = settling }
end
