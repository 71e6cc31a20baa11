-- Notes: what operators have set, in one hash: name -> until (8; all ones: without an end), value.
--
-- KEYS[1]  the hash
-- ARGV[1]  whose clock (0: this server's), now (8)
-- ARGV[2]  "put" (name, until, value, the most notes there may be), "remove" (name) or "list"
-- returns  put: 1 if there was one in force, 0 if not, -1 if there is no room; remove: 1 or 0;
--          list: the name of each in force, and its until and value

local NO_END = string.rep('\255', 8)

-- Under a virtual clock the hash stays for this long at least, and at most: servers expire keys in
-- real time, and what is left behind by a run that was killed must not stay for ever.
local VIRTUAL_KEEP_MS, VIRTUAL_MOST_MS = 60000, 86400000

local key, unpack_bytes = KEYS[1], struct.unpack
local is_virtual, now = unpack_bytes('<BI8', ARGV[1])
if is_virtual == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function is_in_force(note)
  return note:sub(1, 8) == NO_END or now < unpack_bytes('<I8', note)
end

local function was_in_force(name)
  local note = redis.call('HGET', key, name)
  return note and is_in_force(note) and 1 or 0
end

-- All notes in force; those that are over are removed. The hash lives as long as the longest of them.
local function prune()
  local all, kept, last = redis.call('HGETALL', key), {}, 0
  for i = 1, #all, 2 do
    local name, note = all[i], all[i + 1]
    if is_in_force(note) then
      kept[#kept + 1], kept[#kept + 2] = name, note
      last = note:sub(1, 8) == NO_END and math.huge or math.max(last, (unpack_bytes('<I8', note)))
    else
      redis.call('HDEL', key, name)
    end
  end
  local left_ms = math.ceil((last - now) / 1000)
  if is_virtual == 1 then
    left_ms = math.min(math.max(VIRTUAL_KEEP_MS, left_ms), VIRTUAL_MOST_MS)
  end
  if left_ms == math.huge then
    redis.call('PERSIST', key)
  elseif #kept > 0 then
    redis.call('PEXPIRE', key, math.max(1, left_ms))
  end
  return kept
end

local command, name = ARGV[2], ARGV[3]
if command == 'list' then
  return prune()
end

local was = was_in_force(name)
if command == 'remove' then
  redis.call('HDEL', key, name)
elseif was == 0 and redis.call('HLEN', key) >= tonumber(ARGV[6]) and #prune() / 2 >= tonumber(ARGV[6]) then
  return -1
else
  redis.call('HSET', key, name, ARGV[4] .. ARGV[5])
end
prune()
return was
