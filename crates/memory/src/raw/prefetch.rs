//! Asking for cache lines before they are needed.
//!
//! A decision waits for memory once, for the line of its slot. The decisions of a batch need not
//! wait for each other's: the lines of all are asked for first, and arrive together.

/// Asks for the cache line at an address. The address is a guess: it may be of memory that has been
/// given back meanwhile.
#[inline]
pub(crate) fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = core::ptr::without_provenance::<i8>(address);
        // SAFETY: a prefetch reads nothing that the program could see, and is defined for every
        // address, mapped or not: it faults never and is dropped where there is nothing to fetch
        // (Intel SDM volume 2B, PREFETCHh; AMD APM volume 3, PREFETCHlevel). SSE, which it needs, is
        // part of x86_64.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
