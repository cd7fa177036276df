// A solver for boundmark in C++, without any library: fills one stage after the other.
//
//     g++ -O2 -std=c++17 -o first_fit first_fit.cpp
//
// It reads an instance of the problem `pipeline` as JSON from standard input, and writes a line for
// each solution that is better than those before. boundmark.Method.command(["./first_fit"]) runs it.

#include <algorithm>
#include <iostream>
#include <iterator>
#include <queue>
#include <string>
#include <vector>

// The integers of the field `name`, in brackets or not; the instance has no other form of numbers.
std::vector<long long> integers(const std::string& json, const std::string& name) {
    std::vector<long long> found;
    const auto at = json.find("\"" + name + "\":");
    if (at == std::string::npos) return found;
    int depth = 0;
    std::string digits;
    for (auto i = at + name.size() + 3; i < json.size(); ++i) {
        const char c = json[i];
        if (c >= '0' && c <= '9') { digits += c; continue; }
        if (!digits.empty()) { found.push_back(std::stoll(digits)); digits.clear(); }
        if (c == '[') ++depth;
        if (c == ']') --depth;
        if (depth == 0 && c != ' ') break;
    }
    return found;
}

int main() {
    const std::string json{std::istreambuf_iterator<char>(std::cin), {}};
    const auto work = integers(json, "work");
    const auto edges = integers(json, "edges");
    const long long k = integers(json, "k").at(0);
    const int n = static_cast<int>(work.size());

    std::vector<std::vector<int>> behind(n);
    std::vector<int> waiting(n, 0);
    for (std::size_t e = 0; e + 1 < edges.size(); e += 2) {
        behind[edges[e]].push_back(static_cast<int>(edges[e + 1]));
        ++waiting[edges[e + 1]];
    }
    std::vector<int> order;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int v = 0; v < n; ++v) if (!waiting[v]) ready.push(v);
    while (!ready.empty()) {
        const int v = ready.top();
        ready.pop();
        order.push_back(v);
        for (const int w : behind[v]) if (!--waiting[w]) ready.push(w);
    }

    // The smallest limit of a stage's work with which k stages are enough.
    long long low = *std::max_element(work.begin(), work.end()), high = 0;
    for (const auto one : work) high += one;
    const auto stages_below = [&](long long limit) {
        std::vector<int> stages(n);
        long long load = 0;
        int stage = 0;
        for (const int v : order) {
            if (load + work[v] > limit) { ++stage; load = 0; }
            load += work[v];
            stages[v] = stage;
        }
        return stages;
    };
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        const auto stages = stages_below(middle);
        if (*std::max_element(stages.begin(), stages.end()) < k) high = middle;
        else low = middle + 1;
    }
    const auto stages = stages_below(low);
    std::cout << "{\"stages\":[";
    for (int v = 0; v < n; ++v) std::cout << (v ? "," : "") << stages[v];
    std::cout << "]}" << std::endl;
}
