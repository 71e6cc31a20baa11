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
  local algorithm = MAKE[kind]()
  algorithm.decide = algorithm.decide or decide
  algorithm.reanchor = algorithm.reanchor or reanchor
  made[kind] = algorithm
  return algorithm
end

local function read_op(key, bytes)
  local kind, act, flags, limit, span, n, r, cost = unpack_bytes(OP, bytes)
  -- Sixteen fields are what a table of that size holds.
  local op = { key = key, kind = kind, act = act, flags = flags, limit = limit, span = span, n = n, r = r,
    cost = cost, old = false, at = 0, a = 0, b = 0, c = 0, edit = false, fit = 0 }
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
local function withhold(op, algorithm)
  op.edit = not is_look(op) and algorithm.reanchor(op, algorithm)
end

-- An op that denies and charges for it: what is left goes. What is held is never just taken.
local function drain(op, algorithm)
  if op.act > HOLD or op.fit == IMPOSSIBLE or op.kind >= CONCURRENCY then
    return
  end
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

-- Decides all ops of a plan, which is `denied` if it was elsewhere.
local function decide_all(ops, denied)
  local bad = false
  for i = 1, #ops do
    local op = ops[i]
    local algorithm = made[op.kind] or algorithm_of(op.kind)
    if not algorithm.read(op) then
      bad = true
      retire(op)
    end
  end
  if bad then
    return PLAN_BAD
  end
  for i = 1, #ops do
    local op = ops[i]
    local algorithm = made[op.kind]
    local fit = algorithm.decide(op, algorithm)
    op.fit = fit
    denied = denied or not (fit == ALLOWED or fit == SETTLED or op.flags % 2 == SHADOW)
    if op.is_bad then
      bad = true
      retire(op)
    end
  end
  if bad then
    return PLAN_BAD
  elseif not denied then
    return PLAN_ALLOWED
  end
  for i = 1, #ops do
    local op = ops[i]
    if passes(op.fit) then
      withhold(op, made[op.kind])
    elseif op.flags == DENIAL_CHARGES then
      drain(op, made[op.kind])
    end
  end
  return PLAN_DENIED
end

local function write_all(ops)
  for i = 1, #ops do
    local op = ops[i]
    local edit = op.edit
    if edit == ERASE then
      erase(op)
    elseif edit then
      made[op.kind].write(op, edit)
    end
  end
end

local header = ARGV[1]
is_virtual, now = unpack_bytes('<BI8', header)
is_virtual = is_virtual == 1
if not is_virtual then
  local time = call('TIME')
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
    for number = 1, #ops do
      local op = ops[number]
      local tell = made[op.kind].tell
      local old = op.old and (tell and tell(op) or op.old) or ''
      reply[#reply + 1] = pack('<BI4', op.fit, #old) .. old
    end
    if not is_tried then
      write_all(ops)
    end
  end
end
return table.concat(reply)
