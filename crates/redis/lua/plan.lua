-- Plans: all ops of one are decided, then all are written, or none is. Shadow ops have no vote. A
-- plan that is denied writes only what the clock law and `on_deny` demand.
--
-- KEYS     the states, in the order of the ops of all plans
-- ARGV[1]  whose clock (0: this server's), now (8), then of each plan the number of its ops (1), with
--          64 if it is only tried (nothing is written), with 128 if it was denied elsewhere
-- ARGV[2]  the ops, each: kind, act, flags, limit, span, n, r, cost; a settle or renewal also its
--          receipt: cost, part, at, mark, and the most debt
-- returns  now (8), then for each op of each plan: the answer to the plan (1), how it fits (1), and
--          the old state (its length (4), its bytes)

local OP, RECEIPT = '<BBBI4I8I4I4I4', '<I4I4I8I8I4'
local SHADOW, DENIAL_CHARGES = 1, 2
local TRIED, DENIED_ELSEWHERE = 64, 128
local PLAN_DENIED, PLAN_ALLOWED, PLAN_BAD = 0, 1, 2

local function is_look(op)
  return op.act == PEEK or (op.act <= HOLD and op.cost == 0)
end

-- Lets what is no state of ours vanish when a state would have: the key is of use again after that.
local function retire(op)
  local us = op.span
  if op.kind == BUCKET then
    us = us * op.limit + div_ceil(op.limit * op.r, op.n)
  elseif op.kind == COUNTER then
    us = us * 2
  end
  local keep_ms, left_ms = div_ceil(us, 1000), call('PTTL', op.key)
  if not is_look(op) and (left_ms < 0 or left_ms > keep_ms) then
    call('PEXPIRE', op.key, keep_ms)
  end
end

-- Whether an op writes where there was no state.
local function opens(op)
  return op.act <= HOLD and op.cost > 0
    or op.act == SETTLE and op.cost > op.receipt_cost and op.kind < CONCURRENCY
end

-- What an op of a plan that is denied writes.
local function deny(op)
  local algorithm, act, fit = algorithms[op.kind], op.act, op.fit
  if fit == ALLOWED or fit == SETTLED then
    -- It passes: nothing is charged, and a clock that went back is written down, unless it was but a
    -- look. What is over and would have been replaced is let go of.
    op.edit, op.erases = false, op.is_over and opens(op)
    if op.old and algorithm.load and not is_look(op) then
      local s = algorithm.load(op)
      op.edit = s.rewound and s
    end
  elseif op.flags == DENIAL_CHARGES and act <= HOLD and fit ~= IMPOSSIBLE and op.kind < CONCURRENCY then
    -- It denies and charges for it: what is left goes. What is held is never just taken.
    local s = algorithm.load(op)
    local left = algorithm.room(op, s)
    if left > 0 then
      algorithm.charge(op, s, left)
      op.edit = s
      if algorithm.explain_wait then
        algorithm.explain_wait(op, s, op.cost)
      end
    end
  end
end

local header, packed = ARGV[1], ARGV[2]
local reply, told, key_at, op_at = { pack('<I8', now) }, 1, 0, 1
for plan = 10, #header do
  local ops, size = {}, header:byte(plan)
  local denied = size >= DENIED_ELSEWHERE
  local tried = size % DENIED_ELSEWHERE >= TRIED
  local bad = false
  size = size % TRIED
  for number = 1, size do
    local kind, act, flags, limit, span, n, r, cost, next_at = unpack_bytes(OP, packed, op_at)
    -- So many fields are what a table that was made for them holds.
    local op = { key = KEYS[key_at + number], kind = kind, act = act, flags = flags, limit = limit, span = span,
      n = n, r = r, cost = cost, old = false, fit = DENIED, edit = false, erases = false }
    if act == SETTLE or act == RENEW then
      op.receipt_cost, op.receipt_part, op.receipt_at, op.receipt_mark, op.max_debt, next_at =
        unpack_bytes(RECEIPT, packed, next_at)
    end
    ops[number], op_at = op, next_at
    local algorithm = algorithms[kind]
    local fit = (algorithm.decide or decide)(op, algorithm)
    if fit then
      op.fit = fit
      denied = denied or not (fit == ALLOWED or fit == SETTLED or flags % 2 == SHADOW)
    else
      bad = true
      retire(op)
    end
  end
  key_at = key_at + size
  local answer = bad and PLAN_BAD or denied and PLAN_DENIED or PLAN_ALLOWED
  for number = 1, size do
    local op = ops[number]
    local old = not bad and op.old or ''
    if denied and not bad then
      deny(op)
    end
    local edit = op.edit
    if old ~= '' and algorithms[op.kind].tell then
      old = algorithms[op.kind].tell(op)
    end
    told = told + 1
    reply[told] = pack('<BBI4', answer, op.fit, #old) .. old
    if tried or bad then
      -- Nothing is written.
    elseif op.erases then
      erase(op)
    elseif edit then
      algorithms[op.kind].write(op, edit)
    end
  end
end
return table.concat(reply)
