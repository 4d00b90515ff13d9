//! Strongly connected components of a small graph.

use std::collections::{BTreeMap, BTreeSet};

/// A graph as a map of its edges, each with a label.
pub(super) type Graph<E> = BTreeMap<(String, String), E>;

/// The nodes of every cycle: two nodes are together when each reaches the other.
pub(super) fn cycles<E>(graph: &Graph<E>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|(from, _)| (from, reach(graph, from))).collect();
    let mut cycles: Vec<BTreeSet<String>> = Vec::new();
    for (node, others) in &reached {
        let back = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(node));
        let cycle: BTreeSet<String> =
            others.iter().filter(back).map(|&node| node.clone()).collect();
        if !cycle.is_empty() && !cycles.contains(&cycle) {
            cycles.push(cycle);
        }
    }
    cycles
}

fn reach<'a, E>(graph: &'a Graph<E>, start: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut todo = vec![start];
    while let Some(node) = todo.pop() {
        for (_, to) in graph.keys().filter(|(from, _)| from == node) {
            if reached.insert(to) {
                todo.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[&str]) -> Vec<String> {
        let graph = edges
            .iter()
            .map(|edge| edge.split_once('>').unwrap())
            .map(|(from, to)| ((from.to_owned(), to.to_owned()), ()))
            .collect();
        cycles(&graph).iter().map(|cycle| cycle.iter().cloned().collect()).collect()
    }

    #[test]
    fn nodes_that_reach_each_other_are_one_cycle() {
        assert_eq!(found(&["a>b", "b>c", "a>c"]), [""; 0]);
        assert_eq!(found(&["a>b", "b>c", "c>a", "c>d", "e>a"]), ["abc"]);
        assert_eq!(found(&["a>b", "b>a", "b>c", "c>d", "d>c"]), ["ab", "cd"]);
        assert_eq!(found(&["a>b", "b>a", "b>c", "c>b"]), ["abc"]);
    }
}
