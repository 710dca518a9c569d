// hnswlib 0.8.0, hnswlib/hnswalg.h (https://github.com/nmslib/hnswlib, Apache License 2.0; see LICENSE.hnswlib),
// with these changes, which leave the algorithm as it is but for the last one:
// - An element's data is a Slot, which refers to a vector that its owner holds: slots_ replaces the copies of vectors,
//   and index files hold links alone. The vector that a search compares with may be another form of the inserted one.
// - Labels are 0, 1, 2, ... in the order of insertion: they are the numbers of elements, and are stored in files alone.
// - Links are in a LinkLists, which has room for those that there are; files have room for the most there may be.
// - The owner excludes writers, so elements have no locks of their own.
// - Files are streams, whose beginning the owner writes, and are checked when they are loaded. Updates, and searches with
//   a stop condition, are left out.
// - The unvisited links of a node are gathered, and their vectors fetched into the cache, before any is compared; so are the
//   links of candidates, and the vectors of links that are chosen anew.
// - Slots may refer to codes of vectors (codes.hpp), which the owner makes.
// - A slot says whether its element is deleted; only files have a mark beside the links.
// - An element whose search for neighbours meets deleted elements alone is linked to these.
#pragma once

#include "visited_list_pool.hpp"
#include "hnswlib.hpp"
#include "slots.hpp"
#include "link_lists.hpp"
#include <assert.h>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <list>
#include <memory>
#include <random>
#include <stdexcept>
#include <stdlib.h>
#include <unordered_set>

namespace hnswlib {
template<typename dist_t>
class HierarchicalNSW {
 public:
    static const unsigned char DELETE_MARK = 0x01;
    static constexpr size_t kAhead = 4;  // vectors fetched before they are compared

    size_t max_elements_{0};
    mutable std::atomic<size_t> cur_element_count{0};  // current number of elements
    size_t size_data_per_element_{0};
    size_t size_links_per_element_{0};
    mutable std::atomic<size_t> num_deleted_{0};  // number of deleted elements
    size_t M_{0};
    size_t maxM_{0};
    size_t maxM0_{0};
    size_t ef_construction_{0};
    size_t ef_{ 0 };

    double mult_{0.0}, revSize_{0.0};
    int maxlevel_{0};

    std::unique_ptr<VisitedListPool> visited_list_pool_{nullptr};

    std::mutex global;
    NoLocks link_list_locks_;

    tableint enterpoint_node_{0};

    size_t size_links_level0_{0};
    size_t offsetData_{0}, offsetLevel0_{0}, label_offset_{ 0 };

    LinkLists links_;

    size_t data_size_{0};

    DISTFUNC<dist_t> fstdistfunc_;
    void *dist_func_param_{nullptr};

    common::GrowingArray<Slot> slots_;

    std::default_random_engine level_generator_;
    std::default_random_engine update_probability_generator_;

    mutable std::atomic<long> metric_distance_computations{0};
    mutable std::atomic<long> metric_hops{0};

    bool allow_replace_deleted_ = false;  // flag to replace deleted elements (marked as deleted) during insertions

    std::mutex deleted_elements_lock;  // lock for deleted_elements
    std::unordered_set<tableint> deleted_elements;  // contains internal ids of deleted elements


    HierarchicalNSW() {
    }


    HierarchicalNSW(
        SpaceInterface<dist_t> *s,
        size_t max_elements,
        size_t M = 16,
        size_t ef_construction = 200,
        size_t random_seed = 100,
        bool allow_replace_deleted = false)
        : allow_replace_deleted_(allow_replace_deleted) {
        max_elements_ = max_elements;
        num_deleted_ = 0;
        data_size_ = 0;
        fstdistfunc_ = s->get_dist_func();
        dist_func_param_ = s->get_dist_func_param();
        if ( M <= 10000 ) {
            M_ = M;
        } else {
            HNSWERR << "warning: M parameter exceeds 10000 which may lead to adverse effects." << std::endl;
            HNSWERR << "         Cap to 10000 will be applied for the rest of the processing." << std::endl;
            M_ = 10000;
        }
        maxM_ = M_;
        maxM0_ = M_ * 2;
        ef_construction_ = std::max(ef_construction, M_);
        ef_ = 10;

        level_generator_.seed(random_seed);
        update_probability_generator_.seed(random_seed + 1);

        size_links_level0_ = maxM0_ * sizeof(tableint) + sizeof(linklistsizeint);
        size_data_per_element_ = size_links_level0_ + data_size_ + sizeof(labeltype);
        offsetData_ = size_links_level0_;
        label_offset_ = size_links_level0_ + data_size_;
        offsetLevel0_ = 0;

        cur_element_count = 0;

        visited_list_pool_ = std::unique_ptr<VisitedListPool>(new VisitedListPool(1, max_elements));

        // initializations for special treatment of the first node
        enterpoint_node_ = -1;
        maxlevel_ = -1;

        links_ = LinkLists(maxM_);
        links_.reserve(max_elements_);
        slots_.reserve(max_elements_);
        size_links_per_element_ = maxM_ * sizeof(tableint) + sizeof(linklistsizeint);
        mult_ = 1 / log(1.0 * M_);
        revSize_ = 1.0 / mult_;
    }


    struct CompareByFirst {
        constexpr bool operator()(std::pair<dist_t, tableint> const& a,
            std::pair<dist_t, tableint> const& b) const noexcept {
            return a.first < b.first;
        }
    };


    void setEf(size_t ef) {
        ef_ = ef;
    }


    // Fetches a vector into the cache: rows lie anywhere in memory, and a comparison would wait for each line of one.
    inline void prefetch(tableint internal_id) const {
        const Slot &slot = slots_[internal_id];
        const char *data = static_cast<const char *>(slot.data);
        const size_t bytes = bytes_of(slot.form, *static_cast<const size_t *>(dist_func_param_));
        for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(data + at);
    }

    // Writes the links that have not been visited into `fresh`, in their order, marks them, and fetches what they need.
    inline size_t unvisited(const Links links, vl_type *visited, vl_type tag, tableint *fresh) const {
        size_t count = 0;
        for (const tableint id : links) __builtin_prefetch(visited + id);
        for (const tableint id : links) {
            if (visited[id] == tag) continue;
            visited[id] = tag;
            __builtin_prefetch(slots_.data() + id);
            links_.fetch_head(id);
            fresh[count++] = id;
        }
        for (size_t i = 0; i < count && i < kAhead; i++) prefetch(fresh[i]);
        return count;
    }


    inline char *getDataByInternalId(tableint internal_id) const {
        return const_cast<char *>(reinterpret_cast<const char *>(slots_.data() + internal_id));
    }


    int getRandomLevel(double reverse_size) {
        std::uniform_real_distribution<double> distribution(0.0, 1.0);
        double r = -log(distribution(level_generator_)) * reverse_size;
        return (int) r;
    }

    size_t getMaxElements() {
        return max_elements_;
    }

    size_t getCurrentElementCount() {
        return cur_element_count;
    }

    size_t getDeletedCount() {
        return num_deleted_;
    }

    std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst>
    searchBaseLayer(tableint ep_id, const void *data_point, int layer, bool deletedToo = false) {
        VisitedList *vl = visited_list_pool_->getFreeVisitedList();
        vl_type *visited_array = vl->mass;
        vl_type visited_array_tag = vl->curV;
        std::vector<tableint> fresh(maxM0_);

        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> top_candidates;
        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> candidateSet;

        dist_t lowerBound;
        if (deletedToo || !isMarkedDeleted(ep_id)) {
            dist_t dist = fstdistfunc_(data_point, getDataByInternalId(ep_id), dist_func_param_);
            top_candidates.emplace(dist, ep_id);
            lowerBound = dist;
            candidateSet.emplace(-dist, ep_id);
        } else {
            lowerBound = std::numeric_limits<dist_t>::max();
            candidateSet.emplace(-lowerBound, ep_id);
        }
        visited_array[ep_id] = visited_array_tag;

        while (!candidateSet.empty()) {
            std::pair<dist_t, tableint> curr_el_pair = candidateSet.top();
            if ((-curr_el_pair.first) > lowerBound && top_candidates.size() == ef_construction_) {
                break;
            }
            candidateSet.pop();

            tableint curNodeNum = curr_el_pair.second;

            std::unique_lock<NoLock> lock(link_list_locks_[curNodeNum]);

            const size_t count = unvisited(links_.of(curNodeNum, layer), visited_array, visited_array_tag, fresh.data());

            for (size_t j = 0; j < count; j++) {
                const tableint candidate_id = fresh[j];
                if (j + kAhead < count) prefetch(fresh[j + kAhead]);
                char *currObj1 = (getDataByInternalId(candidate_id));

                dist_t dist1 = fstdistfunc_(data_point, currObj1, dist_func_param_);
                if (top_candidates.size() < ef_construction_ || lowerBound > dist1) {
                    candidateSet.emplace(-dist1, candidate_id);
                    if (layer == 0) links_.fetch(candidate_id);
                    if (deletedToo || !isMarkedDeleted(candidate_id))
                        top_candidates.emplace(dist1, candidate_id);

                    if (top_candidates.size() > ef_construction_)
                        top_candidates.pop();

                    if (!top_candidates.empty())
                        lowerBound = top_candidates.top().first;
                }
            }
        }
        visited_list_pool_->releaseVisitedList(vl);

        return top_candidates;
    }


    // bare_bone_search means there is no check for deletions and stop condition is ignored in return of extra performance
    template <bool bare_bone_search = true, bool collect_metrics = false>
    std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst>
    searchBaseLayerST(
        tableint ep_id,
        const void *data_point,
        size_t ef,
        BaseFilterFunctor* isIdAllowed = nullptr,
        BaseSearchStopCondition<dist_t>* stop_condition = nullptr) const {
        VisitedList *vl = visited_list_pool_->getFreeVisitedList();
        vl_type *visited_array = vl->mass;
        vl_type visited_array_tag = vl->curV;
        std::vector<tableint> fresh(maxM0_);

        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> top_candidates;
        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> candidate_set;

        dist_t lowerBound;
        if (bare_bone_search || 
            (!isMarkedDeleted(ep_id) && ((!isIdAllowed) || (*isIdAllowed)(ep_id)))) {
            char* ep_data = getDataByInternalId(ep_id);
            dist_t dist = fstdistfunc_(data_point, ep_data, dist_func_param_);
            lowerBound = dist;
            top_candidates.emplace(dist, ep_id);
            if (!bare_bone_search && stop_condition) {
                stop_condition->add_point_to_result(ep_id, ep_data, dist);
            }
            candidate_set.emplace(-dist, ep_id);
        } else {
            lowerBound = std::numeric_limits<dist_t>::max();
            candidate_set.emplace(-lowerBound, ep_id);
        }

        visited_array[ep_id] = visited_array_tag;

        while (!candidate_set.empty()) {
            std::pair<dist_t, tableint> current_node_pair = candidate_set.top();
            dist_t candidate_dist = -current_node_pair.first;

            bool flag_stop_search;
            if (bare_bone_search) {
                flag_stop_search = candidate_dist > lowerBound;
            } else {
                if (stop_condition) {
                    flag_stop_search = stop_condition->should_stop_search(candidate_dist, lowerBound);
                } else {
                    flag_stop_search = candidate_dist > lowerBound && top_candidates.size() == ef;
                }
            }
            if (flag_stop_search) {
                break;
            }
            candidate_set.pop();

            tableint current_node_id = current_node_pair.second;
            const Links links = links_.of(current_node_id, 0);
//                bool cur_node_deleted = isMarkedDeleted(current_node_id);
            if (collect_metrics) {
                metric_hops++;
                metric_distance_computations+=links.size;
            }

            const size_t count = unvisited(links, visited_array, visited_array_tag, fresh.data());

            for (size_t j = 0; j < count; j++) {
                const tableint candidate_id = fresh[j];
                if (j + kAhead < count) prefetch(fresh[j + kAhead]);
                {
                    char *currObj1 = (getDataByInternalId(candidate_id));
                    dist_t dist = fstdistfunc_(data_point, currObj1, dist_func_param_);

                    bool flag_consider_candidate;
                    if (!bare_bone_search && stop_condition) {
                        flag_consider_candidate = stop_condition->should_consider_candidate(dist, lowerBound);
                    } else {
                        flag_consider_candidate = top_candidates.size() < ef || lowerBound > dist;
                    }

                    if (flag_consider_candidate) {
                        candidate_set.emplace(-dist, candidate_id);
                        links_.fetch(candidate_set.top().second);

                        if (bare_bone_search || 
                            (!isMarkedDeleted(candidate_id) && ((!isIdAllowed) || (*isIdAllowed)(candidate_id)))) {
                            top_candidates.emplace(dist, candidate_id);
                            if (!bare_bone_search && stop_condition) {
                                stop_condition->add_point_to_result(candidate_id, currObj1, dist);
                            }
                        }

                        bool flag_remove_extra = false;
                        if (!bare_bone_search && stop_condition) {
                            flag_remove_extra = stop_condition->should_remove_extra();
                        } else {
                            flag_remove_extra = top_candidates.size() > ef;
                        }
                        while (flag_remove_extra) {
                            tableint id = top_candidates.top().second;
                            top_candidates.pop();
                            if (!bare_bone_search && stop_condition) {
                                stop_condition->remove_point_from_result(id, getDataByInternalId(id), dist);
                                flag_remove_extra = stop_condition->should_remove_extra();
                            } else {
                                flag_remove_extra = top_candidates.size() > ef;
                            }
                        }

                        if (!top_candidates.empty())
                            lowerBound = top_candidates.top().first;
                    }
                }
            }
        }

        visited_list_pool_->releaseVisitedList(vl);
        return top_candidates;
    }


    void getNeighborsByHeuristic2(
        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> &top_candidates,
        const size_t M) {
        if (top_candidates.size() < M) {
            return;
        }

        std::priority_queue<std::pair<dist_t, tableint>> queue_closest;
        std::vector<std::pair<dist_t, tableint>> return_list;
        while (top_candidates.size() > 0) {
            queue_closest.emplace(-top_candidates.top().first, top_candidates.top().second);
            top_candidates.pop();
        }

        while (queue_closest.size()) {
            if (return_list.size() >= M)
                break;
            std::pair<dist_t, tableint> curent_pair = queue_closest.top();
            dist_t dist_to_query = -curent_pair.first;
            queue_closest.pop();
            bool good = true;

            for (std::pair<dist_t, tableint> second_pair : return_list) {
                dist_t curdist =
                        fstdistfunc_(getDataByInternalId(second_pair.second),
                                        getDataByInternalId(curent_pair.second),
                                        dist_func_param_);
                if (curdist < dist_to_query) {
                    good = false;
                    break;
                }
            }
            if (good) {
                return_list.push_back(curent_pair);
            }
        }

        for (std::pair<dist_t, tableint> curent_pair : return_list) {
            top_candidates.emplace(-curent_pair.first, curent_pair.second);
        }
    }


    tableint mutuallyConnectNewElement(
        const void *data_point,
        tableint cur_c,
        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> &top_candidates,
        int level,
        bool isUpdate) {
        size_t Mcurmax = level ? maxM_ : maxM0_;
        getNeighborsByHeuristic2(top_candidates, M_);
        if (top_candidates.size() > M_)
            throw std::runtime_error("Should be not be more than M_ candidates returned by the heuristic");

        std::vector<tableint> selectedNeighbors;
        selectedNeighbors.reserve(M_);
        while (top_candidates.size() > 0) {
            selectedNeighbors.push_back(top_candidates.top().second);
            top_candidates.pop();
        }

        tableint next_closest_entry_point = selectedNeighbors.back();

        {
            // lock only during the update
            // because during the addition the lock for cur_c is already acquired
            std::unique_lock<NoLock> lock(link_list_locks_[cur_c], std::defer_lock);
            if (isUpdate) {
                lock.lock();
            }
            if (links_.of(cur_c, level).size && !isUpdate) {
                throw std::runtime_error("The newly inserted element should have blank link list");
            }
            for (size_t idx = 0; idx < selectedNeighbors.size(); idx++) {
                if (level > links_.level(selectedNeighbors[idx]))
                    throw std::runtime_error("Trying to make a link on a non-existent level");
            }
            links_.set(cur_c, level, selectedNeighbors.data(), selectedNeighbors.size());
        }

        for (size_t idx = 0; idx < selectedNeighbors.size(); idx++) {
            std::unique_lock<NoLock> lock(link_list_locks_[selectedNeighbors[idx]]);

            const Links data = links_.of(selectedNeighbors[idx], level);
            size_t sz_link_list_other = data.size;

            if (sz_link_list_other > Mcurmax)
                throw std::runtime_error("Bad value of sz_link_list_other");
            if (selectedNeighbors[idx] == cur_c)
                throw std::runtime_error("Trying to connect an element to itself");
            if (level > links_.level(selectedNeighbors[idx]))
                throw std::runtime_error("Trying to make a link on a non-existent level");

            bool is_cur_c_present = false;
            if (isUpdate) {
                for (size_t j = 0; j < sz_link_list_other; j++) {
                    if (data[j] == cur_c) {
                        is_cur_c_present = true;
                        break;
                    }
                }
            }

            // If cur_c is already present in the neighboring connections of `selectedNeighbors[idx]` then no need to modify any connections or run the heuristics.
            if (!is_cur_c_present) {
                if (sz_link_list_other < Mcurmax) {
                    links_.append(selectedNeighbors[idx], level, cur_c);
                } else {
                    // finding the "weakest" element to replace it with the new one
                    dist_t d_max = fstdistfunc_(getDataByInternalId(cur_c), getDataByInternalId(selectedNeighbors[idx]),
                                                dist_func_param_);
                    // Heuristic:
                    std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> candidates;
                    candidates.emplace(d_max, cur_c);

                    for (size_t j = 0; j < sz_link_list_other; j++) __builtin_prefetch(slots_.data() + data[j]);
                    for (size_t j = 0; j < sz_link_list_other && j < kAhead; j++) prefetch(data[j]);
                    for (size_t j = 0; j < sz_link_list_other; j++) {
                        if (j + kAhead < sz_link_list_other) prefetch(data[j + kAhead]);
                        candidates.emplace(
                                fstdistfunc_(getDataByInternalId(data[j]), getDataByInternalId(selectedNeighbors[idx]),
                                                dist_func_param_), data[j]);
                    }

                    getNeighborsByHeuristic2(candidates, Mcurmax);

                    std::vector<tableint> chosen;
                    chosen.reserve(Mcurmax);
                    while (candidates.size() > 0) {
                        chosen.push_back(candidates.top().second);
                        candidates.pop();
                    }

                    links_.set(selectedNeighbors[idx], level, chosen.data(), chosen.size());
                    // Nearest K:
                    /*int indx = -1;
                    for (int j = 0; j < sz_link_list_other; j++) {
                        dist_t d = fstdistfunc_(getDataByInternalId(data[j]), getDataByInternalId(rez[idx]), dist_func_param_);
                        if (d > d_max) {
                            indx = j;
                            d_max = d;
                        }
                    }
                    if (indx >= 0) {
                        data[indx] = cur_c;
                    } */
                }
            }
        }

        return next_closest_entry_point;
    }


    void resizeIndex(size_t new_max_elements) {
        if (new_max_elements < cur_element_count)
            throw std::runtime_error("Cannot resize, max element is less than the current number of elements");

        visited_list_pool_.reset(new VisitedListPool(1, new_max_elements));

        slots_.reserve(new_max_elements);
        links_.reserve(new_max_elements);

        max_elements_ = new_max_elements;
    }

    size_t indexFileSize() const {
        size_t size = 0;
        size += sizeof(offsetLevel0_);
        size += sizeof(max_elements_);
        size += sizeof(cur_element_count);
        size += sizeof(size_data_per_element_);
        size += sizeof(label_offset_);
        size += sizeof(offsetData_);
        size += sizeof(maxlevel_);
        size += sizeof(enterpoint_node_);
        size += sizeof(maxM_);

        size += sizeof(maxM0_);
        size += sizeof(M_);
        size += sizeof(mult_);
        size += sizeof(ef_construction_);

        size += cur_element_count * size_data_per_element_;

        for (size_t i = 0; i < cur_element_count; i++) {
            unsigned int linkListSize = size_links_per_element_ * links_.level(i);
            size += sizeof(linkListSize);
            size += linkListSize;
        }
        return size;
    }

    void saveIndex(std::ostream &output) const {

        writeBinaryPOD(output, offsetLevel0_);
        writeBinaryPOD(output, max_elements_);
        writeBinaryPOD(output, cur_element_count);
        writeBinaryPOD(output, size_data_per_element_);
        writeBinaryPOD(output, label_offset_);
        writeBinaryPOD(output, offsetData_);
        writeBinaryPOD(output, maxlevel_);
        writeBinaryPOD(output, enterpoint_node_);
        writeBinaryPOD(output, maxM_);

        writeBinaryPOD(output, maxM0_);
        writeBinaryPOD(output, M_);
        writeBinaryPOD(output, mult_);
        writeBinaryPOD(output, ef_construction_);

        std::vector<tableint> list;
        for (size_t i = 0; i < cur_element_count; i++) {
            writeLinks(output, i, 0, list);
            writeBinaryPOD(output, static_cast<labeltype>(i));
        }

        for (size_t i = 0; i < cur_element_count; i++) {
            unsigned int linkListSize = size_links_per_element_ * links_.level(i);
            writeBinaryPOD(output, linkListSize);
            for (int level = 1; level <= links_.level(i); level++) writeLinks(output, i, level, list);
        }
    }


    // Writes the number of links, with the mark of a deleted element on the lowest level, and room for the most there may be.
    void writeLinks(std::ostream &output, tableint internal_id, int level, std::vector<tableint> &list) const {
        const Links links = links_.of(internal_id, level);
        list.assign(1 + (level ? maxM_ : maxM0_), 0);
        list[0] = links.size | (level == 0 && isMarkedDeleted(internal_id) ? DELETE_MARK << 16 : 0);
        std::copy(links.begin(), links.end(), list.begin() + 1);
        output.write(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(tableint));
    }


    // Reads what writeLinks wrote into `list`.
    void readLinks(std::istream &input, int level, std::vector<tableint> &list) const {
        list.resize(1 + (level ? maxM_ : maxM0_));
        input.read(reinterpret_cast<char *>(list.data()), list.size() * sizeof(tableint));
        if (!input)
            throw std::runtime_error("The graph ends early");
        if (static_cast<std::uint16_t>(list[0]) > list.size() - 1)
            throw std::runtime_error("An element has too many links");
    }


    // Loads the links of `count` elements; the slots must be set by the owner before any search. Nothing is allocated for
    // a size before the file is known to be that long, and every number of an element is checked: the file may be
    // damaged. Throws std::runtime_error; the object may then only be destroyed.
    void loadIndex(std::istream &input, SpaceInterface<dist_t> *s, size_t count, size_t max_elements) {
        std::streampos start = input.tellg();
        input.seekg(0, input.end);
        std::streampos total_filesize = input.tellg();
        input.seekg(start);

        size_t file_count{0};
        readBinaryPOD(input, offsetLevel0_);
        readBinaryPOD(input, max_elements_);
        readBinaryPOD(input, file_count);
        readBinaryPOD(input, size_data_per_element_);
        readBinaryPOD(input, label_offset_);
        readBinaryPOD(input, offsetData_);
        readBinaryPOD(input, maxlevel_);
        readBinaryPOD(input, enterpoint_node_);

        readBinaryPOD(input, maxM_);
        readBinaryPOD(input, maxM0_);
        readBinaryPOD(input, M_);
        readBinaryPOD(input, mult_);
        readBinaryPOD(input, ef_construction_);
        if (!input)
            throw std::runtime_error("The graph ends early");

        max_elements_ = max_elements;
        data_size_ = 0;
        fstdistfunc_ = s->get_dist_func();
        dist_func_param_ = s->get_dist_func_param();
        checkHeader(file_count == count && count <= max_elements);

        std::streampos pos = input.tellg();
        if (count > static_cast<size_t>(total_filesize - pos) / size_data_per_element_)
            throw std::runtime_error("The graph ends early");

        visited_list_pool_.reset(new VisitedListPool(1, max_elements));

        mult_ = 1 / log(1.0 * M_);
        revSize_ = 1.0 / mult_;
        ef_ = 10;
        // The levels of elements follow the links of the lowest level.
        input.seekg(count * size_data_per_element_, input.cur);
        links_ = LinkLists(maxM_);
        links_.reserve(max_elements);
        slots_ = {};
        slots_.reserve(max_elements);
        std::vector<tableint> list;
        for (size_t i = 0; i < count; i++) {
            unsigned int linkListSize{0};
            readBinaryPOD(input, linkListSize);
            if (!input || linkListSize > static_cast<size_t>(total_filesize - input.tellg()))
                throw std::runtime_error("The graph ends early");
            if (linkListSize % size_links_per_element_ != 0)
                throw std::runtime_error("The links of an element have a wrong size");
            links_.add(linkListSize / size_links_per_element_);
            for (int level = 1; level <= links_.level(i); level++) {
                readLinks(input, level, list);
                links_.set(i, level, list.data() + 1, static_cast<std::uint16_t>(list[0]));
            }
        }
        if (input.tellg() != total_filesize)
            throw std::runtime_error("The graph has another length");
        input.seekg(pos);
        for (size_t i = 0; i < count; i++) {
            labeltype label{0};
            readLinks(input, 0, list);
            readBinaryPOD(input, label);
            if (label != i)
                throw std::runtime_error("a label is not the next one");
            links_.set(i, 0, list.data() + 1, static_cast<std::uint16_t>(list[0]));
            Slot slot;
            slot.deleted = list[0] >> 16 & DELETE_MARK;
            slots_.push_back(slot);
            if (slot.deleted) {
                num_deleted_ += 1;
                if (allow_replace_deleted_) deleted_elements.insert(i);
            }
        }
        if (!input)
            throw std::runtime_error("The graph has another length");
        cur_element_count = count;
        checkLinks();
    }


    // Throws unless the sizes of a file's header are those of a graph.
    void checkHeader(bool isCount) {
        if (!isCount || M_ < 1 || M_ > 10000 || maxM_ != M_ || maxM0_ != 2 * M_ || offsetLevel0_ != 0)
            throw std::runtime_error("The graph has another header");
        size_links_per_element_ = maxM_ * sizeof(tableint) + sizeof(linklistsizeint);
        size_links_level0_ = maxM0_ * sizeof(tableint) + sizeof(linklistsizeint);
        if (offsetData_ != size_links_level0_ || label_offset_ != size_links_level0_
                || size_data_per_element_ != size_links_level0_ + sizeof(labeltype))
            throw std::runtime_error("The graph has another header");
    }


    // Throws unless every link leads to an element of its level, and the search begins at one of the highest level.
    void checkLinks() const {
        if (cur_element_count == 0) {
            if (enterpoint_node_ != (tableint) -1 || maxlevel_ != -1)
                throw std::runtime_error("The search begins at no element");
            return;
        }
        if (enterpoint_node_ >= cur_element_count || maxlevel_ != links_.level(enterpoint_node_))
            throw std::runtime_error("The search begins at no element");
        for (size_t i = 0; i < cur_element_count; i++) {
            for (int level = 0; level <= links_.level(i); level++) {
                for (const tableint end : links_.of(i, level))
                    if (end >= cur_element_count || links_.level(end) < level)
                        throw std::runtime_error("A link leads to no element of its level");
            }
        }
    }


    /*
    * Marks an element with the given label deleted, does NOT really change the current graph.
    */
    void markDelete(labeltype label) {
        if (label >= cur_element_count) {
            throw std::runtime_error("Label not found");
        }
        tableint internalId = label;

        markDeletedInternal(internalId);
    }


    void markDeletedInternal(tableint internalId) {
        assert(internalId < cur_element_count);
        if (!isMarkedDeleted(internalId)) {
            slots_[internalId].deleted = 1;
            num_deleted_ += 1;
            if (allow_replace_deleted_) {
                std::unique_lock <std::mutex> lock_deleted_elements(deleted_elements_lock);
                deleted_elements.insert(internalId);
            }
        } else {
            throw std::runtime_error("The requested to delete element is already deleted");
        }
    }


    /*
    * Removes the deleted mark of the node, does NOT really change the current graph.
    * 
    * Note: the method is not safe to use when replacement of deleted elements is enabled,
    *  because elements marked as deleted can be completely removed by addPoint
    */
    void unmarkDelete(labeltype label) {
        if (label >= cur_element_count) {
            throw std::runtime_error("Label not found");
        }
        tableint internalId = label;

        unmarkDeletedInternal(internalId);
    }



    /*
    * Remove the deleted mark of the node.
    */
    void unmarkDeletedInternal(tableint internalId) {
        assert(internalId < cur_element_count);
        if (isMarkedDeleted(internalId)) {
            slots_[internalId].deleted = 0;
            num_deleted_ -= 1;
            if (allow_replace_deleted_) {
                std::unique_lock <std::mutex> lock_deleted_elements(deleted_elements_lock);
                deleted_elements.erase(internalId);
            }
        } else {
            throw std::runtime_error("The requested to undelete element is not deleted");
        }
    }


    bool isMarkedDeleted(tableint internalId) const { return slots_[internalId].deleted; }


    // Adds `stored` under a new label; the search for its neighbours compares `data_point`, the same vector.
    tableint addPoint(const Slot &stored, const void *data_point, labeltype label, int level = -1) {
        if (cur_element_count >= max_elements_) {
            throw std::runtime_error("The number of elements exceeds the specified limit");
        }
        if (label != cur_element_count) {
            throw std::runtime_error("a label is not the next one");
        }
        tableint cur_c = cur_element_count;

        std::unique_lock<NoLock> lock_el(link_list_locks_[cur_c]);
        int curlevel = getRandomLevel(mult_);
        if (level > 0)
            curlevel = level;

        links_.add(curlevel);
        slots_.push_back(stored);
        cur_element_count++;

        std::unique_lock <std::mutex> templock(global);
        int maxlevelcopy = maxlevel_;
        if (curlevel <= maxlevelcopy)
            templock.unlock();
        tableint currObj = enterpoint_node_;
        tableint enterpoint_copy = enterpoint_node_;

        if ((signed)currObj != -1) {
            if (curlevel < maxlevelcopy) {
                dist_t curdist = fstdistfunc_(data_point, getDataByInternalId(currObj), dist_func_param_);
                for (int level = maxlevelcopy; level > curlevel; level--) {
                    bool changed = true;
                    while (changed) {
                        changed = false;
                        std::unique_lock<NoLock> lock(link_list_locks_[currObj]);
                        for (const tableint cand : links_.of(currObj, level)) {
                            if (cand < 0 || cand > max_elements_)
                                throw std::runtime_error("cand error");
                            dist_t d = fstdistfunc_(data_point, getDataByInternalId(cand), dist_func_param_);
                            if (d < curdist) {
                                curdist = d;
                                currObj = cand;
                                changed = true;
                            }
                        }
                    }
                }
            }

            bool epDeleted = isMarkedDeleted(enterpoint_copy);
            for (int level = std::min(curlevel, maxlevelcopy); level >= 0; level--) {
                if (level > maxlevelcopy || level < 0)  // possible?
                    throw std::runtime_error("Level error");

                std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> top_candidates = searchBaseLayer(
                        currObj, data_point, level);
                if (epDeleted) {
                    top_candidates.emplace(fstdistfunc_(data_point, getDataByInternalId(enterpoint_copy), dist_func_param_), enterpoint_copy);
                    if (top_candidates.size() > ef_construction_)
                        top_candidates.pop();
                }
                // All elements that are reachable from here may be deleted: then the way to the new one leads over them.
                if (top_candidates.empty()) top_candidates = searchBaseLayer(currObj, data_point, level, true);
                currObj = mutuallyConnectNewElement(data_point, cur_c, top_candidates, level, false);
            }
        } else {
            // Do nothing for the first element
            enterpoint_node_ = 0;
            maxlevel_ = curlevel;
        }

        // Releasing lock for the maximum level
        if (curlevel > maxlevelcopy) {
            enterpoint_node_ = cur_c;
            maxlevel_ = curlevel;
        }
        return cur_c;
    }


    std::priority_queue<std::pair<dist_t, labeltype >>
    searchKnn(const void *query_data, size_t k, BaseFilterFunctor* isIdAllowed = nullptr) const {
        std::priority_queue<std::pair<dist_t, labeltype >> result;
        if (cur_element_count == 0) return result;

        tableint currObj = enterpoint_node_;
        dist_t curdist = fstdistfunc_(query_data, getDataByInternalId(enterpoint_node_), dist_func_param_);

        for (int level = maxlevel_; level > 0; level--) {
            bool changed = true;
            while (changed) {
                changed = false;
                const Links links = links_.of(currObj, level);
                metric_hops++;
                metric_distance_computations+=links.size;

                for (const tableint cand : links) {
                    if (cand < 0 || cand > max_elements_)
                        throw std::runtime_error("cand error");
                    dist_t d = fstdistfunc_(query_data, getDataByInternalId(cand), dist_func_param_);

                    if (d < curdist) {
                        curdist = d;
                        currObj = cand;
                        changed = true;
                    }
                }
            }
        }

        std::priority_queue<std::pair<dist_t, tableint>, std::vector<std::pair<dist_t, tableint>>, CompareByFirst> top_candidates;
        bool bare_bone_search = !num_deleted_ && !isIdAllowed;
        if (bare_bone_search) {
            top_candidates = searchBaseLayerST<true>(
                    currObj, query_data, std::max(ef_, k), isIdAllowed);
        } else {
            top_candidates = searchBaseLayerST<false>(
                    currObj, query_data, std::max(ef_, k), isIdAllowed);
        }

        while (top_candidates.size() > k) {
            top_candidates.pop();
        }
        while (top_candidates.size() > 0) {
            std::pair<dist_t, tableint> rez = top_candidates.top();
            result.push(std::pair<dist_t, labeltype>(rez.first, rez.second));
            top_candidates.pop();
        }
        return result;
    }
};
}  // namespace hnswlib
