//! Where memory comes from: short-lived small values from mimalloc, large buffers from the system.
//!
//! A simulation is many small values, and with mimalloc it runs about an eighth faster. But mimalloc
//! keeps large buffers that are free for a while, and a worker that floods the proxy makes many of them:
//! the harness had 130 MB where it has 75 with the system's allocator, which gives them back at once.
//!
//! mimalloc is called without an alignment where it gives that alignment anyway: its general way for
//! aligned values is slower, and nearly every value of Rust is aligned to a word at most.

#![expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; each call is handed on with the layout it came with"
)]

use std::alloc::{GlobalAlloc, Layout, System};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Bytes from which on a value is large: simulations have next to none of that size.
const LARGE: usize = 16 << 10;

/// What every block of mimalloc is aligned to.
const WORD: usize = size_of::<usize>();

/// Chooses by size. A value is given back with the size that it was asked for with, so each goes back to
/// where it came from.
pub(crate) struct BySize;

// SAFETY: every call is handed to one of two allocators that keep the trait's promises, with the caller's
// own layout, and the layout alone decides which.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match layout.size() < LARGE {
            true if layout.align() <= WORD => unsafe { mi_malloc(layout.size()) }.cast(),
            true => unsafe { mi_malloc_aligned(layout.size(), layout.align()) }.cast(),
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match layout.size() < LARGE {
            true if layout.align() <= WORD => unsafe { mi_zalloc(layout.size()) }.cast(),
            true => unsafe { mi_zalloc_aligned(layout.size(), layout.align()) }.cast(),
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match layout.size() < LARGE {
            true => unsafe { mi_free(pointer.cast()) },
            false => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        match (layout.size() < LARGE, new_size < LARGE) {
            (true, true) if layout.align() <= WORD => {
                unsafe { mi_realloc(pointer.cast(), new_size) }.cast()
            }
            (true, true) => {
                unsafe { mi_realloc_aligned(pointer.cast(), new_size, layout.align()) }.cast()
            }
            (false, false) => unsafe { System.realloc(pointer, layout, new_size) },
            // From one to the other.
            _ => {
                // SAFETY: the caller promises that the new size is valid with this alignment.
                let new_layout =
                    unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
                let moved = unsafe { self.alloc(new_layout) };
                if !moved.is_null() {
                    let count = layout.size().min(new_size);
                    // SAFETY: both are at least that long, and they are not the same.
                    unsafe {
                        std::ptr::copy_nonoverlapping(pointer, moved, count);
                        self.dealloc(pointer, layout);
                    }
                }
                moved
            }
        }
    }
}
