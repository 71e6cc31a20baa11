//! Exact rate limiting: in one indivisible step, may this request pass now?
