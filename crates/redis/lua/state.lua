-- States as they stand at their keys, and for how long.
--
--   byte 1     version
--   byte 2     kind
--   3 .. 9     until, us, little endian like all that follow
--   10 .. 16   at, us
--   17 .. 28   three words of 4 bytes; of logs and concurrency: raw time (8), number of entries (4)
--   29 .. 32   of those two: how many entries at the front are forgotten
--   33 ..      and entries of 16 bytes: stamp (8), sum (4), cost (4)

local VERSION = 1
local BUCKET, FIXED_EPOCH, FIXED_FIRST, COUNTER, LOG, CONCURRENCY, TICKET = 1, 2, 3, 4, 5, 6, 7
local CELL, CELL_BYTES = '<BBI7I7I4I4I4', 28
local TAIL, TAIL_BYTES = '<BBI7I7I8I4I4', 32
local ENTRY, ENTRY_BYTES = '<I8I4I4', 16

-- Under a virtual clock a state is kept for this long at least: servers expire keys in real time.
local VIRTUAL_KEEP_MS = 60000

local now, is_virtual

-- How a write says when the key may vanish: never before `until_us`, and never at no time at all.
local function expiry(until_us)
  if is_virtual then
    return 'PX', max(VIRTUAL_KEEP_MS, div_ceil(saturating_sub(until_us, now), 1000))
  end
  return 'PXAT', max(div_ceil(until_us, 1000), div(now, 1000) + 1)
end

local function expire(op, until_us)
  local unit, ms = expiry(until_us)
  call(unit == 'PX' and 'PEXPIRE' or 'PEXPIREAT', op.key, ms)
end

local function set(op, bytes, until_us)
  call('SET', op.key, bytes, expiry(until_us))
end

-- The string at a key, nil if there is none, and false if it is something else.
local function read_string(command, ...)
  local reply = try(command, ...)
  if type(reply) == 'string' then
    return reply
  elseif not reply then
    return nil
  elseif not reply.err:find('WRONGTYPE', 1, true) then
    call(command, ...) -- fails again, in the server's own words
  end
  return false
end

-- Reads the small state of an op into it; false if what stands there is none of ours.
local function read_cell(op)
  local bytes = read_string('GET', op.key)
  if bytes == nil then
    return true
  elseif not bytes or #bytes ~= CELL_BYTES then
    return false
  end
  local version, kind, until_us, at, a, b, c = unpack_bytes(CELL, bytes)
  op.old, op.at, op.a, op.b, op.c = bytes, at, a, b, c
  return version == VERSION and kind == op.kind and until_us <= HORIZON and at <= HORIZON
end

local function write_cell(op, at, a, b, c, until_us)
  at, until_us = stored(at), stored(until_us)
  set(op, pack(CELL, VERSION, op.kind, until_us, at, a, b, c), until_us)
end

-- Takes the head of a tail apart into its op; false if it is none of ours.
local function read_tail_head(op, bytes)
  if #bytes < TAIL_BYTES then
    return false
  end
  local version, kind, until_us, at, raw, count, gone = unpack_bytes(TAIL, bytes)
  op.old, op.at, op.raw, op.first, op.count = bytes, at, raw, gone, count - gone
  return version == VERSION and kind == op.kind and until_us <= HORIZON and at <= HORIZON
    and raw <= EXACT and count >= gone
end

local function tail_head(op, raw, count, first, until_us)
  return pack(TAIL, VERSION, op.kind, until_us, now, raw, count, first)
end

local function erase(op)
  if op.old then
    call('DEL', op.key)
  end
end
