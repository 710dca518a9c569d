// A table of Python objects by small number: an array with a gap for each number that has none.
//
// A `dict` takes 36 to 72 bytes an entry, this 8 to 9, for all numbers up to the largest. It is a type of its own and no
// pybind11 class, because a lookup must cost what that of a `dict` costs. The rest of a mapping is in number_table.py.
// An index of such rows by their keys is in tables/index_type.hpp, counts by pair of numbers in tables/pairs_type.hpp.

#include "tables/index_type.hpp"
#include "tables/pairs_type.hpp"
#include "tables/table.hpp"

namespace {

// Change the room for objects; false, with no error set and everything as it is, without memory.
bool resize(Table* table, Py_ssize_t capacity) {
    void* items = PyMem_Realloc(table->items, static_cast<std::size_t>(capacity) * sizeof(PyObject*));
    if (!items) return false;
    table->items = static_cast<PyObject**>(items);
    table->capacity = capacity;
    return true;
}

bool insert(Table* table, Py_ssize_t number, PyObject* value) {
    if (number >= table->capacity && !resize(table, number + number / 8 + 4)) {
        PyErr_NoMemory();
        return false;
    }
    while (table->bound <= number) table->items[table->bound++] = nullptr;
    PyObject* old = table->items[number];
    Py_INCREF(value);
    table->items[number] = value;
    table->count += old == nullptr;
    Py_XDECREF(old);
    return true;
}

void remove(Table* table, Py_ssize_t number) {
    PyObject* old = table->items[number];
    table->items[number] = nullptr;
    --table->count;
    while (table->bound && !table->items[table->bound - 1]) --table->bound;
    if (table->bound < table->capacity / 4) resize(table, table->bound + table->bound / 8 + 4);  // or the room stays
    Py_DECREF(old);  // last, because it may run code
}

PyObject* subscript(PyObject* self, PyObject* key) {
    const Py_ssize_t number = number_of(key);
    if (number == -2) return nullptr;
    PyObject* value = held(table_of(self), number);
    return value ? Py_NewRef(value) : missing(key);
}

int assign(PyObject* self, PyObject* key, PyObject* value) {
    const Py_ssize_t number = number_of(key);
    if (number == -2) return -1;
    if (!value) {
        if (!held(table_of(self), number)) return missing(key), -1;
        return remove(table_of(self), number), 0;
    }
    if (number == -1) {
        PyErr_Format(PyExc_OverflowError, "the number %S of a row is not from 0 to 2**32 - 1", key);
        return -1;
    }
    return insert(table_of(self), number, value) ? 0 : -1;
}

int contains(PyObject* self, PyObject* key) {
    const Py_ssize_t number = number_of(key);
    return number == -2 ? -1 : held(table_of(self), number) != nullptr;
}

Py_ssize_t length(PyObject* self) { return table_of(self)->count; }

PyObject* get(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "get takes a number and a default");
        return nullptr;
    }
    const Py_ssize_t number = number_of(given[0]);
    if (number == -2) return nullptr;
    PyObject* value = held(table_of(self), number);
    return Py_NewRef(value ? value : count == 2 ? given[1] : Py_None);
}

PyObject* bound(PyObject* self, PyObject*) { return PyLong_FromSsize_t(table_of(self)->bound); }

PyObject* size_of(PyObject* self, PyObject*) {
    const auto slots = table_of(self)->capacity * static_cast<Py_ssize_t>(sizeof(PyObject*));
    return PyLong_FromSsize_t(Py_TYPE(self)->tp_basicsize + slots);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    for (Py_ssize_t number = 0; number < table_of(self)->bound; ++number) Py_VISIT(table_of(self)->items[number]);
    return 0;
}

int clear(PyObject* self) {
    Table* table = table_of(self);
    PyObject** items = table->items;
    const Py_ssize_t bound = table->bound;
    table->items = nullptr;  // first, because what is released may read the table
    table->capacity = table->bound = table->count = 0;
    for (Py_ssize_t number = 0; number < bound; ++number) Py_XDECREF(items[number]);
    PyMem_Free(items);
    return 0;
}

PyObject* clear_all(PyObject* self, PyObject*) {
    clear(self);
    Py_RETURN_NONE;
}

void deallocate(PyObject* self) {
    PyObject_GC_UnTrack(self);
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyMethodDef methods[] = {
    {"get", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get)), METH_FASTCALL, nullptr},
    {"bound", bound, METH_NOARGS, nullptr},
    {"clear", clear_all, METH_NOARGS, nullptr},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMappingMethods mapping = {length, subscript, assign};
PySequenceMethods sequence = {};
PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_tables", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__tables() {
    sequence.sq_contains = contains;
    type.tp_name = "graphtide.graph._tables.Table";
    type.tp_basicsize = sizeof(Table);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    type.tp_new = PyType_GenericNew;
    type.tp_dealloc = deallocate;
    type.tp_traverse = traverse;
    type.tp_clear = clear;
    type.tp_as_mapping = &mapping;
    type.tp_as_sequence = &sequence;
    type.tp_methods = methods;
    if (PyType_Ready(&type) < 0) return nullptr;
    PyObject* made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "Table", reinterpret_cast<PyObject*>(&type)) < 0) Py_CLEAR(made);
    if (made && !(key_index::add_type(made, &type) && pair_counts::add_type(made))) Py_CLEAR(made);
    return made;
}
