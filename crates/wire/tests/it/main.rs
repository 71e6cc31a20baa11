//! What others see of `jeton-wire`, from outside.

#[cfg(test)]
mod client_ip;
#[cfg(test)]
mod cors;
#[cfg(test)]
mod dialects;
#[cfg(test)]
mod forged;
#[cfg(test)]
mod forwarded;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod path;
#[cfg(test)]
mod problem;
#[cfg(test)]
mod proxy_protocol;
#[cfg(test)]
mod ratelimit;
#[cfg(test)]
mod read;
