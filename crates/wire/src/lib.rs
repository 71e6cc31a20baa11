//! Rate-limit header fields, problem documents, client addresses and path normal form.
