// The storage of a table of Python objects by small number (tables.cpp), which indexes of its rows read, too.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {

constexpr Py_ssize_t MAX_NUMBER = (Py_ssize_t{1} << 32) - 1;

struct Table {
    PyObject_HEAD
    PyObject** items;
    Py_ssize_t capacity;
    Py_ssize_t bound;  // no number from here on has an object
    Py_ssize_t count;
};

inline Table* table_of(PyObject* self) { return reinterpret_cast<Table*>(self); }

// The number of a key; -1 for an int that no entry can have, -2 with an error set for a key that is no int.
inline Py_ssize_t number_of(PyObject* key) {
    const Py_ssize_t number = PyNumber_AsSsize_t(key, nullptr);  // the nearest one for an int outside of the range
    if (number == -1 && PyErr_Occurred()) return -2;
    return number < 0 || number > MAX_NUMBER ? -1 : number;
}

inline PyObject* held(const Table* table, Py_ssize_t number) {
    return number >= 0 && number < table->bound ? table->items[number] : nullptr;
}

inline PyObject* missing(PyObject* key) {
    PyErr_SetObject(PyExc_KeyError, key);
    return nullptr;
}

}  // namespace
