-- What holds for every algorithm: a cost above the limit is impossible, a cost of 0 looks, a denial
-- writes nothing but the clock law, a look writes nothing at all.

local TAKE, HOLD, PEEK, SETTLE, RENEW, GIVE, RESET = 1, 2, 3, 4, 5, 6, 7
local DENIED, ALLOWED, IMPOSSIBLE, SETTLED, REPEATED, UNKNOWN = 0, 1, 2, 3, 4, 5

local algorithms = {} -- by the kind of their states

-- What is rarer than a take, and made only when it is needed.
local function decide_other(op, s, algorithm)
  -- What of `units` charged now fits into the room that is left, and what of the rest becomes debt,
  -- of which there is `debt` already.
  local function room_and_debt(units, room, debt, most_debt)
    local fits = min(units, max(0, room))
    return fits, min(units - fits, max(0, most_debt - debt))
  end

  if not algorithm.give then
    algorithm.settling(algorithm, room_and_debt)
  end
  if op.act == SETTLE then
    local charged, actual = op.receipt_cost, op.cost
    if actual < charged then
      algorithm.lower(op, s, charged - actual)
    elseif actual > charged then
      algorithm.raise(op, s, actual - charged, min(op.max_debt, op.limit))
    end
    op.edit = s
  elseif op.act == GIVE then
    algorithm.give(op, s, op.cost)
    op.edit = s
  elseif op.act == RESET then
    op.erases = true
  end
  return SETTLED
end

-- Decides the act of an op on its state; what is to be written is `op.edit`, what is to be forgotten
-- `op.erases`. Nil if the state is none of ours.
local function decide(op, algorithm)
  local act, cost, s = op.act, op.cost, algorithm.load(op)
  if not s then
    return nil
  elseif act > PEEK then
    return decide_other(op, s, algorithm)
  end
  local charges = act ~= PEEK and cost > 0
  if cost > op.limit then
    return IMPOSSIBLE
  elseif cost <= algorithm.room(op, s) then
    if charges then
      algorithm.charge(op, s, cost)
      op.edit = s
    end
    return ALLOWED
  elseif charges and s.rewound then
    op.edit = s
  end
  if algorithm.explain_wait then
    algorithm.explain_wait(op, s, cost)
  end
  return DENIED
end
