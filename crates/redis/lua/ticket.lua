-- A ticket: the record of one reservation, so that any node can settle it, and only once.

do
  local OPEN, SETTLED_STATE = 0, 1

  local function wrote(op, fit, ticket_end, state, actual)
    op.edit = { ticket_end = min(ticket_end, HORIZON), state = state, actual = actual }
    return fit
  end

  local function decide(op)
    local ticket_end, state = read_cell(op)
    if not ticket_end or state > SETTLED_STATE then
      return nil
    end
    local act, live = op.act, now < ticket_end
    if act == GIVE then
      return SETTLED
    elseif act == RESET then
      op.erases = true
      return SETTLED
    elseif act == TAKE and op.cost > 0 then
      return IMPOSSIBLE
    elseif act == TAKE or act == HOLD then
      if live then
        return DENIED
      elseif op.cost > 0 then
        return wrote(op, ALLOWED, now + op.span, OPEN, 0)
      end
      return ALLOWED
    elseif not live then
      return UNKNOWN
    elseif state ~= OPEN then
      return REPEATED
    elseif act == PEEK then
      return ALLOWED
    elseif act == SETTLE then
      return wrote(op, SETTLED, ticket_end, SETTLED_STATE, op.cost)
    end
    return wrote(op, SETTLED, now + op.span, OPEN, 0)
  end

  local function write(op, s)
    write_cell(op, s.ticket_end, s.state, s.actual, 0, s.ticket_end)
  end

  -- It cannot be loaded: a clock that went back leaves a ticket as it is.
  algorithms[TICKET] = { decide = decide, write = write }
end
