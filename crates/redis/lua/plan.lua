-- Plans: all ops of one are decided, then all are written, or none is. Shadow ops have no vote. A
-- plan that is denied writes only what the clock law and `on_deny` demand.
--
-- KEYS     the states, in the order of the ops of all plans
-- ARGV[1]  whose clock (0: this server's), now (8), then of each plan the number of its ops (1), with
--          64 if it is only tried (nothing is written), with 128 if it was denied elsewhere
-- ARGV[n]  one op each: kind, act, flags, limit, span, n, r, cost; a settle or renewal also its
--          receipt: cost, part, at, mark, and the most debt
-- returns  now (8), then for each plan its answer (1), and for each of its ops, unless the plan is
--          bad: how it fits (1), and the old state (its length (4), its bytes)

local OP, RECEIPT = '<BBBI4I8I4I4I4', '<I4I4I8I8I4'
local OP_BYTES = 27
local SHADOW, DENIAL_CHARGES = 1, 2
local TRIED, DENIED_ELSEWHERE = 64, 128
local PLAN_DENIED, PLAN_ALLOWED, PLAN_BAD = 0, 1, 2

local MAKE = { bucket, fixed_window, fixed_window, sliding_counter, sliding_log, concurrency, ticket }
local made = {}

local function algorithm_of(kind)
  local algorithm = made[kind]
  if not algorithm then
    algorithm = MAKE[kind]()
    algorithm.decide = algorithm.decide or decide
    algorithm.reanchor = algorithm.reanchor or reanchor
    made[kind] = algorithm
  end
  return algorithm
end

local function read_op(key, bytes)
  local kind, act, flags, limit, span, n, r, cost = unpack_bytes(OP, bytes)
  local op = { key = key, kind = kind, act = act, limit = limit, span = span, n = n, r = r, cost = cost,
    algorithm = algorithm_of(kind), is_shadow = flags % 2 == SHADOW,
    denial_charges = flags >= DENIAL_CHARGES, old = nil, at = 0, a = 0, b = 0, c = 0, edit = nil, fit = 0 }
  if act == SETTLE or act == RENEW then
    op.receipt_cost, op.receipt_part, op.receipt_at, op.receipt_mark, op.max_debt =
      unpack_bytes(RECEIPT, bytes, OP_BYTES + 1)
  end
  return op
end

local function passes(fit)
  return fit == ALLOWED or fit == SETTLED
end

-- An op that passes in a plan that is denied: nothing is charged, and a clock that went back is
-- written down, unless it was but a look.
local function withhold(op)
  op.edit, op.erases = nil, false
  if not is_look(op) then
    op.edit = op.algorithm.reanchor(op)
  end
end

-- An op that denies and charges for it: what is left goes. What is held is never just taken.
local function drain(op)
  local algorithm, s = op.algorithm, op.state
  if op.act > HOLD or op.fit == IMPOSSIBLE or op.kind >= CONCURRENCY then
    return
  end
  local left = algorithm.room(op, s)
  if left > 0 then
    algorithm.charge(op, s, left)
    op.edit = s
    if algorithm.explain_wait then
      algorithm.explain_wait(op, s, op.cost)
    end
  end
end

-- Lets what is no state of ours vanish when a state would have: the key is of use again after that.
local function retire(op)
  local us = op.span
  if op.kind == BUCKET then
    us = us * op.limit + div_ceil(op.limit * op.r, op.n)
  elseif op.kind == COUNTER then
    us = us * 2
  end
  local keep_ms, left_ms = div_ceil(us, 1000), redis.call('PTTL', op.key)
  if not is_look(op) and (left_ms < 0 or left_ms > keep_ms) then
    redis.call('PEXPIRE', op.key, keep_ms)
  end
end

local function is_bad(ops)
  local bad = false
  for _, op in ipairs(ops) do
    if op.is_bad then
      bad = true
      retire(op)
    end
  end
  return bad
end

local function decide_all(ops, denied)
  for _, op in ipairs(ops) do
    op.is_bad = not op.algorithm.read(op)
  end
  if is_bad(ops) then
    return PLAN_BAD
  end
  for _, op in ipairs(ops) do
    op.fit = op.algorithm.decide(op)
    denied = denied or not (op.is_shadow or passes(op.fit))
  end
  if is_bad(ops) then
    return PLAN_BAD
  end
  for _, op in ipairs(ops) do
    if denied and passes(op.fit) then
      withhold(op)
    elseif denied and op.denial_charges and not op.is_shadow then
      drain(op)
    end
  end
  return denied and PLAN_DENIED or PLAN_ALLOWED
end

local function write(op)
  if op.erases then
    erase(op)
  elseif op.edit then
    op.algorithm.write(op, op.edit)
  end
end

local function old_state(op)
  if not op.old then
    return ''
  elseif op.algorithm.tell then
    return op.algorithm.tell(op)
  end
  return op.old
end

local header = ARGV[1]
is_virtual, now = unpack_bytes('<BI8', header)
is_virtual = is_virtual == 1
if not is_virtual then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
now = min(now, LAST_NOW)

local reply, at = { pack('<I8', now) }, 0
for index = 10, #header do
  local ops, size = {}, header:byte(index)
  local is_denied = size >= DENIED_ELSEWHERE
  local is_tried = size % DENIED_ELSEWHERE >= TRIED
  for number = 1, size % TRIED do
    at = at + 1
    ops[number] = read_op(KEYS[at], ARGV[at + 1])
  end
  local answer = decide_all(ops, is_denied)
  reply[#reply + 1] = pack('B', answer)
  if answer ~= PLAN_BAD then
    for _, op in ipairs(ops) do
      local old = old_state(op)
      reply[#reply + 1] = pack('<BI4', op.fit, #old)
      reply[#reply + 1] = old
    end
    if not is_tried then
      for _, op in ipairs(ops) do
        write(op)
      end
    end
  end
end
return table.concat(reply)
