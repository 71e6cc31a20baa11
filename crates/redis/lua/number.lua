-- Numbers.
--
-- Every number here is an integer of at most 2^53, which a double holds exactly. Up to there x % n is
-- exact as well, and so is (x - x % n) / n. What is larger only ever saturates, or says no.
--
-- Constants, which are names in capitals, are replaced by their values when a script is put together:
-- a script runs from its top for every call, and Lua would make variables of them each time.

local EXACT = 9007199254740992 -- 2^53
local HORIZON = 4503599627370496 -- 2^52 us: the last instant that is stored
local LAST_NOW = 3236962232172544 -- 23 * 2^47 us: the last instant that counts as now, July 2072
local WRAP = 4294967296 -- running sums and ids are kept modulo 2^32
local MAX_UNITS = 2000000000 -- twice the largest limit: the most that a state can owe

local call, pack, unpack_bytes, min, max = redis.call, struct.pack, struct.unpack, math.min, math.max

local function div(x, n)
  return (x - x % n) / n
end

local function div_ceil(x, n)
  return div(x, n) + (x % n > 0 and 1 or 0)
end
