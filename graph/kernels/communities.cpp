// Python binding of the community kernel: it converts arrays, and releases the GIL while the kernel computes.
//
// The kernel has one owner: a call raises RuntimeError while another thread is in a call.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <mutex>

#include "communities/core.hpp"

namespace py = pybind11;
using namespace communities;

template <typename T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

using Columns = py::tuple;

namespace {

template <typename T, typename Rows, typename Field>
py::array_t<T> column(const Rows& rows, Field field) {
    py::array_t<T> out(static_cast<py::ssize_t>(rows.size()));
    T* at = out.mutable_data();
    for (const auto& row : rows) *at++ = static_cast<T>(field(row));
    return out;
}

std::vector<Delta> batch_of(const Array<std::int32_t>& edges, const Array<std::int64_t>& weights) {
    if (edges.ndim() != 2 || edges.shape(1) != 2 || weights.ndim() != 1 || weights.shape(0) != edges.shape(0))
        throw std::invalid_argument("edges (n, 2) and weights (n,) are needed");
    std::vector<Delta> batch(static_cast<std::size_t>(edges.shape(0)));
    const std::int32_t* ends = edges.data();
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = {ends[2 * i], ends[2 * i + 1], weights.data()[i]};
    return batch;
}

// Converts a 128-bit integer to a Python integer.
py::int_ whole(Wide value) {
    const auto low = static_cast<std::uint64_t>(value);
    const auto high = static_cast<std::int64_t>(value >> 64);
    return py::int_(py::int_(high) << py::int_(64)) | py::int_(low);
}

Columns tree_columns(const Tree& tree) {
    const auto& [assigned, rows, next_id] = tree;
    return py::make_tuple(
        column<std::int32_t>(assigned, [](const auto& p) { return p.first; }),
        column<std::int64_t>(assigned, [](const auto& p) { return p.second; }),
        column<std::int64_t>(rows, [](const Row& r) { return r.ident; }),
        column<std::int32_t>(rows, [](const Row& r) { return r.level; }),
        column<std::int64_t>(rows, [](const Row& r) { return r.parent; }), next_id);
}

Columns change_columns(const Change& change) {
    const auto& [nodes, children, removed] = change;
    return py::make_tuple(
        column<std::int32_t>(nodes, [](const auto& p) { return p.first; }),
        column<std::int64_t>(nodes, [](const auto& p) { return p.second; }),
        column<std::int64_t>(children, [](const Row& r) { return r.ident; }),
        column<std::int32_t>(children, [](const Row& r) { return r.level; }),
        column<std::int64_t>(children, [](const Row& r) { return r.parent; }),
        column<std::int64_t>(removed, [](Id id) { return id; }));
}

class Kernel {
   public:
    Columns update(const Array<std::int32_t>& edges, const Array<std::int64_t>& deltas) {
        const auto guard = enter();
        auto batch = batch_of(edges, deltas);
        Change change;
        {
            py::gil_scoped_release release;
            change = core_.update(std::move(batch));
        }
        return change_columns(change);
    }

    void fill(const Array<std::int32_t>& edges, const Array<std::int64_t>& weights) {
        const auto guard = enter();
        auto batch = batch_of(edges, weights);
        py::gil_scoped_release release;
        core_.fill(std::move(batch));
    }

    void build() {
        const auto guard = enter();
        py::gil_scoped_release release;
        core_.build();
    }

    void settle() {
        const auto guard = enter();
        py::gil_scoped_release release;
        core_.settle();
    }

    void load(const std::tuple<Array<std::int32_t>, Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>,
                               Array<std::int64_t>, Id>& columns) {
        const auto guard = enter();
        const auto& [nodes, communities, ids, level_of, parents, next_id] = columns;
        Tree tree;
        tree.next_id = next_id;
        for (py::ssize_t i = 0; i < nodes.size(); ++i) tree.assigned.emplace_back(nodes.data()[i], communities.data()[i]);
        for (py::ssize_t i = 0; i < ids.size(); ++i)
            tree.rows.push_back({ids.data()[i], level_of.data()[i], parents.data()[i]});
        py::gil_scoped_release release;
        core_.load(tree);
    }

    Columns hierarchy() const {
        const auto guard = enter();
        return tree_columns(core_.tree());
    }

    py::tuple graph(int level) const {
        const auto guard = enter();
        const Level& graph = *core_.levels.at(level);
        std::vector<Unit> units;
        for (std::size_t u = 0; u < graph.degree.size(); ++u)
            if (graph.degree[u] != 0) units.push_back(static_cast<Unit>(u));
        core_.sort_by_key(level, units);
        std::vector<std::array<Id, 3>> edges;
        for (const Unit unit : units)
            for (const Entry entry : graph.adjacency[unit])
                if (core_.key(level, unit) < core_.key(level, entry.unit))
                    edges.push_back({core_.key(level, unit), core_.key(level, entry.unit), entry.weight});
        if (level > 0) std::sort(edges.begin(), edges.end());
        py::array_t<std::int64_t> ends({static_cast<py::ssize_t>(edges.size()), py::ssize_t{2}});
        std::int64_t* at = ends.mutable_data();
        for (const auto& edge : edges) {
            *at++ = edge[0];
            *at++ = edge[1];
        }
        return py::make_tuple(column<std::int64_t>(units, [&](Unit u) { return core_.key(level, u); }),
                              column<std::int64_t>(units, [&](Unit u) { return graph.degree[u]; }), ends,
                              column<std::int64_t>(edges, [](const auto& edge) { return edge[2]; }));
    }

    int levels() const {
        const auto guard = enter();
        return core_.top();
    }

    Id community(std::int64_t node, int level) const {
        const auto guard = enter();
        if (level < 0 || level >= core_.top())
            throw py::index_error("level " + std::to_string(level) + " of " + std::to_string(core_.top()));
        const auto& bottom = core_.levels[0]->community;
        if (node < 0 || static_cast<std::size_t>(node) >= bottom.size() || bottom[node] < 0) return 0;
        std::vector<Unit> chain;
        core_.chain(0, bottom[node], chain);
        return core_.levels[level + 1]->ident[chain[level]];
    }

    int level(Id community) const {
        const auto guard = enter();
        return slot_of(community).level - 1;
    }

    Id parent(Id community) const {
        const auto guard = enter();
        const Slot slot = slot_of(community);
        return core_.parent_id(slot.level, slot.unit);
    }

    py::array_t<std::int64_t> members(Id community) const {
        const auto guard = enter();
        const Slot slot = slot_of(community);
        std::vector<Id> keys;
        for (Unit unit = core_.levels[slot.level]->first[slot.unit]; unit >= 0;
             unit = core_.levels[slot.level - 1]->next[unit])
            keys.push_back(core_.key(slot.level - 1, unit));
        std::sort(keys.begin(), keys.end());
        return column<std::int64_t>(keys, [](Id key) { return key; });
    }

    py::tuple sums(int level) const {
        const auto guard = enter();
        return py::make_tuple(core_.levels.at(level)->inside, whole(core_.levels.at(level + 1)->squares), core_.total);
    }

    std::pair<std::int64_t, std::int64_t> work() const {
        const auto guard = enter();
        return {core_.work.units, core_.work.links};
    }

    std::size_t memory_bytes() const {
        const auto guard = enter();
        return core_.bytes();
    }

   private:
    std::unique_lock<std::mutex> enter() const {
        std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
        if (!lock.owns_lock()) throw std::runtime_error("the communities are in use by another thread");
        return lock;
    }

    Slot slot_of(Id community) const {
        const auto at = core_.slots.find(community);
        if (at == core_.slots.end()) throw py::key_error(std::to_string(community));
        return at->second;
    }

    Core core_;
    mutable std::mutex busy_;
};

}  // namespace

PYBIND11_MODULE(_communities, module) {
    module.doc() = "Compiled kernel of graphtide.graph.communities.";
    py::class_<Kernel>(module, "Kernel")
        .def(py::init<>())
        .def("update", &Kernel::update)
        .def("fill", &Kernel::fill)
        .def("build", &Kernel::build)
        .def("settle", &Kernel::settle)
        .def("load", &Kernel::load)
        .def("hierarchy", &Kernel::hierarchy)
        .def("graph", &Kernel::graph)
        .def("levels", &Kernel::levels)
        .def("community", &Kernel::community)
        .def("level", &Kernel::level)
        .def("parent", &Kernel::parent)
        .def("members", &Kernel::members)
        .def("sums", &Kernel::sums)
        .def("work", &Kernel::work)
        .def("memory_bytes", &Kernel::memory_bytes);
}
