//! Jeton policy files: read, checked, compiled to a rule table.
