-- The clock, which is read once, and for how long things are kept.

-- Under a virtual clock a state is kept for this long at least: servers expire keys in real time.
local VIRTUAL_KEEP_MS = 60000

local is_virtual, now = unpack_bytes('<BI8', ARGV[1])
if is_virtual == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
now = min(now, LAST_NOW)

-- How a write says when the key may vanish: never before `until_us`, and never at no time at all.
local function expiry(until_us)
  if is_virtual == 1 then
    return 'PX', max(VIRTUAL_KEEP_MS, div_ceil(max(0, until_us - now), 1000))
  end
  return 'PXAT', max(div_ceil(until_us, 1000), div(now, 1000) + 1)
end
