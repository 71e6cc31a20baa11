-- States with entries, as they stand at their keys: a head and a tail.
--
--   byte 1     version
--   byte 2     kind
--   3 .. 9     until, us, little endian like all that follow
--   10 .. 16   at, us
--   17 .. 24   raw time, us
--   25 .. 28   number of entries
--   29 .. 32   how many entries at the front are forgotten
--   33 ..      entries of 16 bytes: stamp (8), sum (4), cost (4)

local HEAD, HEAD_BYTES = '<BBI7I7I8I4I4', 32
local ENTRY, ENTRY_BYTES = '<I8I4I4', 16

-- Takes the head apart into its op; false if it is none of ours. The op has no old state if that is
-- over.
local function read_head(op, bytes)
  if #bytes < HEAD_BYTES then
    return false
  end
  local version, kind, until_us, at, raw, count, gone = unpack_bytes(HEAD, bytes)
  op.is_over = until_us <= now
  op.old = not op.is_over and bytes
  op.at, op.raw, op.first, op.count = at, raw, gone, count - gone
  return version == VERSION and kind == op.kind and until_us <= HORIZON and at <= HORIZON
    and raw <= EXACT and count >= gone
end

local function head(op, raw, count, first, until_us)
  return pack(HEAD, VERSION, op.kind, until_us, now, raw, count, first)
end
