//! A machine whose clock runs faster, is set while it runs, and whose disk can be full.
//!
//! `PAGESIEVE_MACHINE` names a file of five words that the test writes to while the program runs: see `Control`. Sleeps and timeouts end at
//! the fast clock's time. One that has begun when the clock is put forward ends at most 20 ms later, if it waits for sockets.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_long, c_void},
    fs, mem,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
};

const SECOND: i64 = 1_000_000_000;

/// The longest that the program waits for sockets before it looks at the clock again.
const LONGEST_WAIT: i64 = SECOND / 50;

/// What the test sets. Times are in nanoseconds.
#[repr(C)]
struct Control {
    /// How many seconds pass in a real one.
    speed: AtomicI64,
    /// The real monotonic time at which the fast clock said the same.
    start: AtomicI64,
    /// How far the monotonic clock was put forward.
    skipped: AtomicI64,
    /// What the time of day is at the monotonic clock's zero.
    midnight: AtomicI64,
    /// Whether writing to files fails.
    full: AtomicI64,
}

impl Control {
    fn fast(&self, real: i64) -> i64 {
        let start = self.start.load(Ordering::Relaxed);
        start
            + (real - start) * self.speed.load(Ordering::Relaxed)
            + self.skipped.load(Ordering::Relaxed)
    }

    /// When the fast clock says this.
    fn real(&self, fast: i64) -> i64 {
        let start = self.start.load(Ordering::Relaxed);
        let passed = fast - start - self.skipped.load(Ordering::Relaxed);
        start + passed / self.speed.load(Ordering::Relaxed)
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Time {
    seconds: i64,
    nanos: i64,
}

impl Time {
    fn new(nanos: i64) -> Self {
        Self { seconds: nanos.div_euclid(SECOND), nanos: nanos.rem_euclid(SECOND) }
    }

    fn nanos(self) -> i64 {
        self.seconds * SECOND + self.nanos
    }
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn mmap(
        at: *mut c_void,
        length: usize,
        access: c_int,
        kind: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

/// What libc itself does.
macro_rules! original {
    ($name:literal, $kind:ty) => {{
        static FOUND: OnceLock<usize> = OnceLock::new();
        let name: &CStr = $name;
        let next = -1_isize as *mut c_void;
        let found = *FOUND.get_or_init(|| unsafe { dlsym(next, name.as_ptr()) } as usize);
        unsafe { mem::transmute::<usize, $kind>(found) }
    }};
}

type GetTime = extern "C" fn(c_int, *mut Time) -> c_int;
type Syscall = extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

const REALTIME: [c_int; 2] = [0, 5];
const MONOTONIC: [c_int; 4] = [1, 4, 6, 7];
const SYS_FUTEX: c_long = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const SYS_EPOLL_PWAIT2: c_long = 441;
const FUTEX_WAIT_BITSET: usize = 9;
const NO_SPACE: c_int = 28;

fn control() -> &'static Control {
    static CONTROL: OnceLock<&Control> = OnceLock::new();
    CONTROL.get_or_init(|| {
        let path = env::var("PAGESIEVE_MACHINE").expect("PAGESIEVE_MACHINE names a file");
        let path = CString::new(path).expect("a path");
        let (readable, shared) = (1, 1);
        unsafe {
            let file = open(path.as_ptr(), 0);
            let at = mmap(std::ptr::null_mut(), size_of::<Control>(), readable, shared, file, 0);
            assert!(file >= 0 && at as isize != -1, "the file of PAGESIEVE_MACHINE cannot be read");
            &*at.cast::<Control>()
        }
    })
}

fn real_now() -> i64 {
    let mut now = Time::new(0);
    original!(c"clock_gettime", GetTime)(1, &raw mut now);
    now.nanos()
}

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: c_int, out: *mut Time) -> c_int {
    let code = original!(c"clock_gettime", GetTime)(clock, out);
    let control = control();
    if code == 0 && (REALTIME.contains(&clock) || MONOTONIC.contains(&clock)) {
        let since =
            if REALTIME.contains(&clock) { control.midnight.load(Ordering::Relaxed) } else { 0 };
        unsafe { *out = Time::new(control.fast(real_now()) + since) };
    }
    code
}

#[unsafe(no_mangle)]
extern "C" fn epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, millis: c_int) -> c_int {
    let longest = Time::new(match i64::from(millis) {
        ..0 => LONGEST_WAIT,
        millis => (millis * 1_000_000 / control().speed.load(Ordering::Relaxed)).min(LONGEST_WAIT),
    });
    let call = original!(c"syscall", Syscall);
    let (events, most, longest) = (events as usize, most as usize, &raw const longest as usize);
    // A wait that ends early is one without events, for which the program has to be prepared.
    call(SYS_EPOLL_PWAIT2, epoll as usize, events, most, longest, 0, 8) as c_int
}

/// Rust's standard library waits for threads by this call, until an absolute time of the monotonic clock.
#[unsafe(no_mangle)]
extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let call = original!(c"syscall", Syscall);
    if number == SYS_FUTEX && b & 0x7f == FUTEX_WAIT_BITSET && d != 0 {
        let until = Time::new(control().real(unsafe { *(d as *const Time) }.nanos()));
        return call(number, a, b, c, &raw const until as usize, e, f);
    }
    call(number, a, b, c, d, e, f)
}

#[unsafe(no_mangle)]
extern "C" fn nanosleep(time: *const Time, left: *mut Time) -> c_int {
    let time = Time::new(unsafe { *time }.nanos() / control().speed.load(Ordering::Relaxed));
    type Sleep = extern "C" fn(*const Time, *mut Time) -> c_int;
    original!(c"nanosleep", Sleep)(&raw const time, left)
}

#[unsafe(no_mangle)]
extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Time,
    left: *mut Time,
) -> c_int {
    let asked = unsafe { *time }.nanos();
    let (absolute, control) = (flags & 1 == 1, control());
    let time = Time::new(match absolute {
        true => control.real(asked),
        false => asked / control.speed.load(Ordering::Relaxed),
    });
    type Sleep = extern "C" fn(c_int, c_int, *const Time, *mut Time) -> c_int;
    original!(c"clock_nanosleep", Sleep)(clock, flags, &raw const time, left)
}

/// Whether this is a file on the disk that is full, and not a socket, pipe or event.
fn is_refused(file: c_int) -> bool {
    let is_file =
        || fs::read_link(format!("/proc/self/fd/{file}")).is_ok_and(|path| path.is_absolute());
    let refused = control().full.load(Ordering::Relaxed) != 0 && file > 2 && is_file();
    if refused {
        unsafe { *__errno_location() = NO_SPACE };
    }
    refused
}

#[unsafe(no_mangle)]
extern "C" fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
    type Write = extern "C" fn(c_int, *const c_void, usize) -> isize;
    if is_refused(file) { -1 } else { original!(c"write", Write)(file, bytes, length) }
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    type Write = extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
    if is_refused(file) { -1 } else { original!(c"pwrite64", Write)(file, bytes, length, at) }
}
