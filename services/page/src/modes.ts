/** The retrieval modes, with their purpose. */

export const MODES: readonly (readonly [string, string])[] = [
  ["auto", "automatic"],
  ["local", "local: a few passages"],
  ["passages", "passages: several hops"],
  ["bridge", "bridge: how two things are related"],
  ["vector", "vector: one passage"],
  ["global-dynamic", "themes of the collection"],
  ["global", "themes: every report"],
  ["da-rag", "da-rag: core of a topic"],
  ["dynagrag", "dynagrag: several regions"],
  ["nakg", "nakg: comparison of documents"],
  ["pipeline", "pipeline: exploration"],
];
