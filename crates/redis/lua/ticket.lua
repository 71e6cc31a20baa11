-- A ticket: the record of one reservation, so that any node can settle it, and only once.

local function ticket()
  local OPEN, SETTLED_STATE = 0, 1

  local function read(op)
    return read_cell(op) and op.a <= SETTLED_STATE
  end

  local function wrote(op, fit, ticket_end, state, actual)
    op.edit = { ticket_end = ticket_end, state = state, actual = actual }
    return fit
  end

  local function decide(op)
    local act, live = op.act, op.old and now < op.at
    if act == GIVE then
      return SETTLED
    elseif act == RESET then
      op.edit = ERASE
      return SETTLED
    elseif act == TAKE and op.cost > 0 then
      return IMPOSSIBLE
    elseif act == TAKE or act == HOLD then
      if live then
        return DENIED
      elseif op.cost > 0 then
        return wrote(op, ALLOWED, stored(now + op.span), OPEN, 0)
      end
      return ALLOWED
    elseif not live then
      return UNKNOWN
    elseif op.a ~= OPEN then
      return REPEATED
    elseif act == PEEK then
      return ALLOWED
    elseif act == SETTLE then
      return wrote(op, SETTLED, op.at, SETTLED_STATE, op.cost)
    end
    return wrote(op, SETTLED, stored(now + op.span), OPEN, 0)
  end

  -- A clock that went back leaves a ticket as it is.
  local function reanchor()
  end

  local function write(op, s)
    write_cell(op, s.ticket_end, s.state, s.actual, 0, s.ticket_end)
  end

  return { read = read, decide = decide, reanchor = reanchor, write = write }
end
