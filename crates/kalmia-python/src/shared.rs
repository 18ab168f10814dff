//! A value that several threads share. Calls wait for each other without holding the interpreter's
//! lock.

use crate::error::raise;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

thread_local! {
    /// Addresses of what this thread has locked. Python code may run meanwhile (a custom family, a
    /// signal handler); without this list it could wait for its own thread forever.
    static LOCKED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Many readers or one writer.
#[derive(Debug)]
pub struct Shared<T>(RwLock<T>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    /// The value, for a caller that owns it alone.
    pub fn inner(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for reading, once no other call writes.
    pub fn read(&self, py: Python<'_>) -> PyResult<Held<RwLockReadGuard<'_, T>>> {
        let guard = if self.is_mine() {
            match self.0.try_read() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(error)) => error.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(busy()),
            }
        } else {
            self.0.read_py_attached(py).unwrap_or_else(PoisonError::into_inner)
        };
        Ok(Held::new(guard, self.address()))
    }

    /// Locks for writing, once no other call reads or writes.
    pub fn write(&self, py: Python<'_>) -> PyResult<Held<RwLockWriteGuard<'_, T>>> {
        if self.is_mine() {
            return Err(busy());
        }
        let guard = self.0.write_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        Ok(Held::new(guard, self.address()))
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    fn is_mine(&self) -> bool {
        LOCKED.with_borrow(|locked| locked.contains(&self.address()))
    }
}

fn busy() -> PyErr {
    raise(
        "StateError",
        "this learner is already in use by the current call; a callback must not use it again"
            .into(),
    )
}

/// A guard that is listed in [`LOCKED`].
pub struct Held<G> {
    guard: G,
    address: usize,
}

impl<G> Held<G> {
    fn new(guard: G, address: usize) -> Self {
        LOCKED.with_borrow_mut(|locked| locked.push(address));
        Self { guard, address }
    }
}

impl<G> Drop for Held<G> {
    fn drop(&mut self) {
        LOCKED.with_borrow_mut(|locked| {
            if let Some(last) = locked.iter().rposition(|&address| address == self.address) {
                locked.remove(last);
            }
        });
    }
}

impl<G: Deref> Deref for Held<G> {
    type Target = G::Target;

    fn deref(&self) -> &Self::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Held<G> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.guard
    }
}
