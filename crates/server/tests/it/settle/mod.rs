//! What is held while the upstream answers: told of its head and of its end, or dropped.

mod seam;
