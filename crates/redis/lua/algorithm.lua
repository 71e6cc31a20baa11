-- What holds for every algorithm: a cost above the limit is impossible, a cost of 0 looks, a denial
-- writes nothing but the clock law, a look writes nothing at all.

local TAKE, HOLD, PEEK, SETTLE, RENEW, GIVE, RESET = 1, 2, 3, 4, 5, 6, 7
local ERASE = true -- the edit that forgets a state
local DENIED, ALLOWED, IMPOSSIBLE, SETTLED, REPEATED, UNKNOWN = 0, 1, 2, 3, 4, 5

local function is_look(op)
  return op.act == PEEK or (op.act <= HOLD and op.cost == 0)
end

-- What of `units` charged now fits into the room that is left, and what of the rest becomes debt, of
-- which there is `debt` already.
local function room_and_debt(units, room, debt, most_debt)
  local fits = min(units, max(0, room))
  return fits, min(units - fits, saturating_sub(most_debt, debt))
end

local function fit_of(op, s, algorithm)
  if op.cost > op.limit then
    return IMPOSSIBLE
  elseif op.cost <= algorithm.room(op, s) then
    return ALLOWED
  elseif algorithm.explain_wait then
    algorithm.explain_wait(op, s, op.cost)
  end
  return DENIED
end

local function take(op, s, algorithm)
  local fit = fit_of(op, s, algorithm)
  if fit == ALLOWED and op.cost > 0 then
    algorithm.charge(op, s, op.cost)
    op.edit = s
  elseif fit == DENIED and op.cost > 0 and s.rewound then
    op.edit = s
  end
  return fit
end

local function settle(op, s, algorithm)
  local charged, actual = op.receipt_cost, op.cost
  if actual < charged then
    algorithm.lower(op, s, charged - actual)
  elseif actual > charged then
    algorithm.raise(op, s, actual - charged, min(op.max_debt, op.limit))
  end
end

-- Decides the act of an op on its state; what is to be written is `op.edit`.
local function decide(op, algorithm)
  local act, s = op.act, algorithm.load(op)
  if act <= HOLD then
    return take(op, s, algorithm)
  elseif act == PEEK then
    return fit_of(op, s, algorithm)
  end
  if not algorithm.give then
    algorithm.settling(algorithm)
  end
  if act == SETTLE then
    settle(op, s, algorithm)
    op.edit = s
  elseif act == GIVE then
    algorithm.give(op, s, op.cost)
    op.edit = s
  elseif act == RESET then
    op.edit = ERASE
  end
  return SETTLED
end

-- The write that the clock law demands of a plan that charges nothing.
local function reanchor(op, algorithm)
  local s = algorithm.load(op)
  if s.rewound then
    return s
  end
end
