// The edges of a graph by the node of either end, in one table: 16 bytes a node and 12 to 19 for each end of an edge.
//
// A node with one neighbour holds its edge in place, one with more has a table of slots. Python reads the edges of a
// node through a `Row`, a small object that only refers to the table. No Python object is stored; edges are created
// when they are read, and those read last are shared. The types are no pybind11 classes, because a look-up must cost
// what that of a `dict` costs.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <initializer_list>
#include <utility>

#include "packed/slots.hpp"

namespace {

using packed::FREE;
using packed::Number;

struct Edge {
    Number key;
    Number weight;
    Number trussness;
};

struct Node {
    Number count;  // of neighbours
    union {
        Edge one;  // of one neighbour
        struct {
            Number capacity;
            Number halves[2];  // of the address of the slots
        } many;
    };

    Number capacity() const { return count < 2 ? count : many.capacity; }
    Edge* slots() {
        if (count < 2) return &one;
        return reinterpret_cast<Edge*>(static_cast<std::uintptr_t>(many.halves[0]) |
                                       static_cast<std::uintptr_t>(many.halves[1]) << 32);
    }
    void set(Number number, Edge* slots, Number wide) {
        const auto address = reinterpret_cast<std::uintptr_t>(slots);
        count = number;
        many.capacity = wide;
        many.halves[0] = static_cast<Number>(address);
        many.halves[1] = static_cast<Number>(address >> 32);
    }
};
static_assert(sizeof(Node) == 16 && sizeof(Edge) == 12 && sizeof(std::uintptr_t) <= 8, "nodes are packed");

struct Table {
    PyObject_HEAD
    PyObject* make;  // creates an edge of a weight and a trussness
    Node* nodes;
    Py_ssize_t capacity;
    Py_ssize_t bound;  // no node from here on has a neighbour
    Py_ssize_t count;  // of nodes with a neighbour
};

struct Row {
    PyObject_HEAD
    Table* table;
    Number node;
};

enum class Part { keys, values, items };

struct Parts {  // the values or the items of a row
    PyObject_HEAD
    Row* row;
    Part part;
};

struct Iterator {
    PyObject_HEAD
    Row* row;
    Number count;
    Part part;
    packed::Walk walk;
};

PyTypeObject table_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject row_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject parts_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject iterator_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyObject* keys_view;  // collections.abc.KeysView

Table* table_of(PyObject* self) { return reinterpret_cast<Table*>(self); }
Row* row_of(PyObject* self) { return reinterpret_cast<Row*>(self); }

constexpr Py_ssize_t NO_NUMBER = -1;  // an int that no node can have
constexpr Py_ssize_t ERROR = -2;

Py_ssize_t number_of(PyObject* key) {
    const Py_ssize_t number = PyNumber_AsSsize_t(key, nullptr);  // the nearest one for an int outside of the range
    if (number == -1 && PyErr_Occurred()) return ERROR;
    return number < 0 || number >= static_cast<Py_ssize_t>(FREE) ? NO_NUMBER : number;
}

// A number to store, with an error set for an int that is out of range.
bool stored(PyObject* given, Number& number) {
    const Py_ssize_t found = number_of(given);
    if (found == NO_NUMBER) PyErr_Format(PyExc_OverflowError, "%S is not from 0 to 2**32 - 2", given);
    number = static_cast<Number>(found);
    return found >= 0;
}

PyObject* missing(PyObject* key) {
    PyErr_SetObject(PyExc_KeyError, key);
    return nullptr;
}

// -- edges ------------------------------------------------------------------------------------------------------------

struct Shared {
    Number weight;
    Number trussness;
    PyObject* make;
    PyObject* edge;
};

constexpr Number SHARED = 512;
Shared shared[SHARED];  // the edges read last, by a hash of their numbers

PyObject* edge_of(const Table* table, const Edge& found) {
    Shared& known = shared[(found.weight * Number{31} + found.trussness) % SHARED];
    if (known.edge && known.weight == found.weight && known.trussness == found.trussness && known.make == table->make)
        return Py_NewRef(known.edge);
    const Edge kept = found;  // creating an edge runs code
    PyObject* made = PyObject_CallFunction(table->make, "II", kept.weight, kept.trussness);
    if (!made) return nullptr;
    Shared fresh = {kept.weight, kept.trussness, Py_NewRef(table->make), Py_NewRef(made)};
    std::swap(known, fresh);
    Py_XDECREF(fresh.make);
    Py_XDECREF(fresh.edge);
    return made;
}

// -- the table --------------------------------------------------------------------------------------------------------

Node* node_of(const Table* table, Py_ssize_t number) {
    return number >= 0 && number < table->bound && table->nodes[number].count ? &table->nodes[number] : nullptr;
}

// Change the room for nodes; false, with no error set and everything as it is, without memory.
bool resize(Table* table, Py_ssize_t capacity) {
    auto* nodes = static_cast<Node*>(PyMem_Realloc(table->nodes, static_cast<std::size_t>(capacity) * sizeof(Node)));
    if (!nodes) return false;
    table->nodes = nodes;
    table->capacity = capacity;
    return true;
}

// Move the edges of a node, but that in the slot `but`, to the slots that `left` need, and add one if it is given.
bool move(Node& node, Number left, Number but, const Edge* added) {
    Edge* before = node.slots();
    const Number capacity = node.capacity();
    if (left == 0) {
        node.count = 0;
    } else if (left == 1) {
        Edge only = added ? *added : before[0];
        for (Number slot = 0; slot < capacity; ++slot)
            if (slot != but && before[slot].key != FREE) only = before[slot];
        node.count = 1;
        node.one = only;
    } else {
        const Number wider = packed::capacity_of(left);
        auto* slots = static_cast<Edge*>(PyMem_Malloc(wider * sizeof(Edge)));
        if (!slots) {
            PyErr_NoMemory();
            return false;
        }
        packed::move_all(before, capacity, but, slots, wider);
        if (added) packed::place(slots, wider, *added);
        if (capacity < 2) before = nullptr;
        node.set(left, slots, wider);
    }
    if (capacity > 1) PyMem_Free(before);
    return true;
}

bool put(Table* table, Number number, const Edge& edge) {
    if (number >= table->capacity && !resize(table, Py_ssize_t{number} + number / 8 + 4)) {
        PyErr_NoMemory();
        return false;
    }
    while (table->bound <= number) table->nodes[table->bound++].count = 0;
    Node& node = table->nodes[number];
    const Number capacity = node.capacity();
    const Number slot = packed::find(node.slots(), capacity, edge.key);
    if (slot != capacity) {
        node.slots()[slot] = edge;
    } else if (packed::fits(node.count + 1, capacity)) {
        packed::place(node.slots(), capacity, edge);
        ++node.count;
    } else if (!move(node, node.count + 1, capacity, &edge)) {
        return false;
    }
    table->count += node.count == 1 && capacity == 0;
    return true;
}

bool take_out(Table* table, Node& node, Number slot) {
    const Number left = node.count - 1;
    if (!packed::sparse(left, node.capacity())) {
        packed::vacate(node.slots(), node.capacity(), slot);
        node.count = left;
    } else if (!move(node, left, slot, nullptr)) {
        return false;
    }
    table->count -= left == 0;
    while (table->bound && !table->nodes[table->bound - 1].count) --table->bound;
    if (table->bound < table->capacity / 4) resize(table, table->bound + table->bound / 8 + 4);  // or the room stays
    return true;
}

PyObject* put_edge(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    Number number;
    Edge edge;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "put takes two nodes, a weight and a trussness");
    if (!stored(given[0], number) || !stored(given[1], edge.key) || !stored(given[2], edge.weight) ||
        !stored(given[3], edge.trussness) || !put(table_of(self), number, edge))
        return nullptr;
    Py_RETURN_NONE;
}

PyObject* remove_edge(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "remove takes two nodes");
    const Py_ssize_t number = number_of(given[0]), other = number_of(given[1]);
    if (number == ERROR || other == ERROR) return nullptr;
    Node* node = node_of(table_of(self), number);
    if (!node) return missing(given[0]);
    const Number slot = other < 0 ? node->capacity() : packed::find(node->slots(), node->capacity(), Number(other));
    if (slot == node->capacity()) return missing(given[1]);
    if (!take_out(table_of(self), *node, slot)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* new_row(PyObject* table, Py_ssize_t node) {
    Row* made = PyObject_New(Row, &row_type);
    if (!made) return nullptr;
    made->table = table_of(Py_NewRef(table));
    made->node = static_cast<Number>(node);
    return reinterpret_cast<PyObject*>(made);
}

PyObject* table_subscript(PyObject* self, PyObject* key) {
    const Py_ssize_t number = number_of(key);
    if (number == ERROR) return nullptr;
    return node_of(table_of(self), number) ? new_row(self, number) : missing(key);
}

PyObject* table_get(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "get takes a node and a default");
    const Py_ssize_t number = number_of(given[0]);
    if (number == ERROR) return nullptr;
    if (node_of(table_of(self), number)) return new_row(self, number);
    return Py_NewRef(count == 2 ? given[1] : Py_None);
}

int table_contains(PyObject* self, PyObject* key) {
    const Py_ssize_t number = number_of(key);
    return number == ERROR ? -1 : node_of(table_of(self), number) != nullptr;
}

Py_ssize_t table_length(PyObject* self) { return table_of(self)->count; }

PyObject* bound(PyObject* self, PyObject*) { return PyLong_FromSsize_t(table_of(self)->bound); }

PyObject* size_of(PyObject* self, PyObject*) {
    Table* table = table_of(self);
    Py_ssize_t bytes = Py_TYPE(self)->tp_basicsize + table->capacity * static_cast<Py_ssize_t>(sizeof(Node));
    for (Py_ssize_t number = 0; number < table->bound; ++number) {
        const Node& node = table->nodes[number];
        if (node.count > 1) bytes += static_cast<Py_ssize_t>(node.many.capacity * sizeof(Edge));
    }
    return PyLong_FromSsize_t(bytes);
}

int table_init(PyObject* self, PyObject* arguments, PyObject*) {
    PyObject* make;
    if (!PyArg_ParseTuple(arguments, "O", &make)) return -1;
    Py_XSETREF(table_of(self)->make, Py_NewRef(make));
    return 0;
}

void table_deallocate(PyObject* self) {
    Table* table = table_of(self);
    for (Py_ssize_t number = 0; number < table->bound; ++number)
        if (table->nodes[number].count > 1) PyMem_Free(table->nodes[number].slots());
    PyMem_Free(table->nodes);
    Py_XDECREF(table->make);
    Py_TYPE(self)->tp_free(self);
}

// -- the edges of a node ----------------------------------------------------------------------------------------------

// The node of a row; null if it has no neighbour now.
Node* node_of(PyObject* self) { return node_of(row_of(self)->table, row_of(self)->node); }

Py_ssize_t row_length(PyObject* self) {
    const Node* node = node_of(self);
    return node ? node->count : 0;
}

// The edge to another node; null if there is none, with an error set for a key that is no int.
const Edge* edge_to(PyObject* self, PyObject* key) {
    const Py_ssize_t other = number_of(key);
    Node* node = node_of(self);
    if (other < 0 || !node) return nullptr;
    const Number slot = packed::find(node->slots(), node->capacity(), static_cast<Number>(other));
    return slot == node->capacity() ? nullptr : node->slots() + slot;
}

PyObject* row_subscript(PyObject* self, PyObject* key) {
    if (const Edge* found = edge_to(self, key)) return edge_of(row_of(self)->table, *found);
    return PyErr_Occurred() ? nullptr : missing(key);
}

PyObject* row_get(PyObject* self, PyObject* const* given, Py_ssize_t count) {
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "get takes a node and a default");
    if (const Edge* found = edge_to(self, given[0])) return edge_of(row_of(self)->table, *found);
    return PyErr_Occurred() ? nullptr : Py_NewRef(count == 2 ? given[1] : Py_None);
}

int row_contains(PyObject* self, PyObject* key) {
    const bool found = edge_to(self, key) != nullptr;
    return PyErr_Occurred() ? -1 : found;
}

PyObject* new_iterator(PyObject* self, Part part) {
    Iterator* made = PyObject_New(Iterator, &iterator_type);
    if (!made) return nullptr;
    made->row = row_of(Py_NewRef(self));
    const Node* node = node_of(self);
    made->count = node ? node->count : 0;
    made->part = part;
    made->walk = packed::Walk(node ? node->capacity() : 0);
    return reinterpret_cast<PyObject*>(made);
}

PyObject* each_key(PyObject* self) { return new_iterator(self, Part::keys); }

PyObject* parts_of(PyObject* self, Part part) {
    Parts* made = PyObject_New(Parts, &parts_type);
    if (!made) return nullptr;
    made->row = row_of(Py_NewRef(self));
    made->part = part;
    return reinterpret_cast<PyObject*>(made);
}

PyObject* keys(PyObject* self, PyObject*) { return PyObject_CallOneArg(keys_view, self); }
PyObject* values(PyObject* self, PyObject*) { return parts_of(self, Part::values); }
PyObject* items(PyObject* self, PyObject*) { return parts_of(self, Part::items); }

PyObject* parts_row(PyObject* self) { return reinterpret_cast<PyObject*>(reinterpret_cast<Parts*>(self)->row); }
PyObject* each_part(PyObject* self) { return new_iterator(parts_row(self), reinterpret_cast<Parts*>(self)->part); }
Py_ssize_t parts_length(PyObject* self) { return row_length(parts_row(self)); }

void parts_deallocate(PyObject* self) {
    Py_DECREF(parts_row(self));
    PyObject_Free(self);
}

PyObject* following(PyObject* self) {
    auto* at = reinterpret_cast<Iterator*>(self);
    auto* row = reinterpret_cast<PyObject*>(at->row);
    Node* node = node_of(row);
    if (at->count != (node ? node->count : 0) || at->walk.capacity() != (node ? node->capacity() : 0)) {
        PyErr_SetString(PyExc_RuntimeError, "the node's number of neighbours changed during iteration");
        return nullptr;
    }
    while (!at->walk.ended()) {
        const Edge& found = node->slots()[at->walk.next()];
        if (found.key == FREE) continue;
        if (at->part == Part::keys) return PyLong_FromUnsignedLong(found.key);
        if (at->part == Part::values) return edge_of(at->row->table, found);
        PyObject* key = PyLong_FromUnsignedLong(found.key);
        PyObject* edge = key ? edge_of(at->row->table, found) : nullptr;
        PyObject* pair = edge ? PyTuple_New(2) : nullptr;
        if (!pair) {
            Py_XDECREF(key);
            Py_XDECREF(edge);
            return nullptr;
        }
        PyTuple_SET_ITEM(pair, 0, key);
        PyTuple_SET_ITEM(pair, 1, edge);
        return pair;
    }
    return nullptr;
}

void iterator_deallocate(PyObject* self) {
    Py_DECREF(reinterpret_cast<Iterator*>(self)->row);
    PyObject_Free(self);
}

void row_deallocate(PyObject* self) {
    Py_DECREF(row_of(self)->table);
    PyObject_Free(self);
}

PyCFunction fast(PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

PyMethodDef table_methods[] = {
    {"put", fast(put_edge), METH_FASTCALL, nullptr},
    {"remove", fast(remove_edge), METH_FASTCALL, nullptr},
    {"get", fast(table_get), METH_FASTCALL, nullptr},
    {"bound", bound, METH_NOARGS, nullptr},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {"__sizeof__", size_of, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef row_methods[] = {
    {"get", fast(row_get), METH_FASTCALL, nullptr},
    {"keys", keys, METH_NOARGS, nullptr},
    {"values", values, METH_NOARGS, nullptr},
    {"items", items, METH_NOARGS, nullptr},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMappingMethods table_mapping = {table_length, table_subscript, nullptr};
PyMappingMethods row_mapping = {row_length, row_subscript, nullptr};
PySequenceMethods table_sequence = {}, row_sequence = {}, parts_sequence = {};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_adjacency", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__adjacency() {
    table_sequence.sq_contains = table_contains;
    table_type.tp_name = "graphtide.graph._adjacency.Table";
    table_type.tp_basicsize = sizeof(Table);
    table_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    table_type.tp_new = PyType_GenericNew;
    table_type.tp_init = table_init;
    table_type.tp_dealloc = table_deallocate;
    table_type.tp_as_mapping = &table_mapping;
    table_type.tp_as_sequence = &table_sequence;
    table_type.tp_methods = table_methods;
    row_sequence.sq_contains = row_contains;
    row_type.tp_name = "graphtide.graph._adjacency.Row";
    row_type.tp_basicsize = sizeof(Row);
    row_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING;
    row_type.tp_dealloc = row_deallocate;
    row_type.tp_iter = each_key;
    row_type.tp_as_mapping = &row_mapping;
    row_type.tp_as_sequence = &row_sequence;
    row_type.tp_methods = row_methods;
    parts_sequence.sq_length = parts_length;
    parts_type.tp_name = "graphtide.graph._adjacency.Parts";
    parts_type.tp_basicsize = sizeof(Parts);
    parts_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    parts_type.tp_dealloc = parts_deallocate;
    parts_type.tp_iter = each_part;
    parts_type.tp_as_sequence = &parts_sequence;
    iterator_type.tp_name = "graphtide.graph._adjacency.Iterator";
    iterator_type.tp_basicsize = sizeof(Iterator);
    iterator_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    iterator_type.tp_dealloc = iterator_deallocate;
    iterator_type.tp_iter = PyObject_SelfIter;
    iterator_type.tp_iternext = following;
    for (PyTypeObject* type : {&table_type, &row_type, &parts_type, &iterator_type})
        if (PyType_Ready(type) < 0) return nullptr;
    PyObject* abstract = PyImport_ImportModule("collections.abc");
    keys_view = abstract ? PyObject_GetAttrString(abstract, "KeysView") : nullptr;
    Py_XDECREF(abstract);
    if (!keys_view) return nullptr;
    PyObject* made = PyModule_Create(&module);
    for (PyTypeObject* type : {&table_type, &row_type})
        if (made && PyModule_AddType(made, type) < 0) Py_CLEAR(made);
    return made;
}
