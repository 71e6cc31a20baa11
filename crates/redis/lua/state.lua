-- States as they stand at their keys.
--
--   byte 1     version
--   byte 2     kind
--   3 .. 9     until, us, little endian like all that follow
--   10 .. 16   at, us
--   17 .. 28   three words of 4 bytes
--
-- Those of logs and concurrency have entries and stand in tail.lua.
--
-- From its `until` on a state is none, whatever a longer window of another plan would still count of
-- it. Its key may stand longer: nothing of it is told, and what is written begins anew. A look leaves
-- it where it is, and before its `until`, for a clock that goes back, it is there again: until
-- something that charges, denied by its plan or not, has replaced it or let go of it.

local VERSION = 1
local BUCKET, FIXED_EPOCH, FIXED_FIRST, COUNTER, LOG, CONCURRENCY, TICKET = 1, 2, 3, 4, 5, 6, 7
local CELL, CELL_BYTES = '<BBI7I7I4I4I4', 28

-- The string at a key, nil if there is none, and false if it is something else.
local function read_string(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if not reply then
    return nil
  elseif not reply.err then -- of a string, that is nil
    return reply
  elseif not reply.err:find('WRONGTYPE', 1, true) then
    call(command, key, ...) -- fails again, in the server's own words
  end
  return false
end

-- Reads a small state: at, and three words. All are 0 if there is none, nil if it is none of ours.
local function read_cell(op)
  local bytes = read_string('GET', op.key)
  if bytes == nil then
    return 0, 0, 0, 0
  elseif not bytes or #bytes ~= CELL_BYTES then
    return nil
  end
  local version, kind, until_us, at, a, b, c = unpack_bytes(CELL, bytes)
  if version ~= VERSION or kind ~= op.kind or until_us > HORIZON or at > HORIZON then
    return nil
  elseif until_us <= now then
    op.is_over = true
    return 0, 0, 0, 0
  end
  op.old = bytes
  return at, a, b, c
end

local function write_cell(op, at, a, b, c, until_us)
  until_us = min(until_us, HORIZON)
  local bytes = pack(CELL, VERSION, op.kind, until_us, min(at, HORIZON), a, b, c)
  call('SET', op.key, bytes, expiry(until_us))
end

local function erase(op)
  if op.old or op.is_over then
    call('DEL', op.key)
  end
end
