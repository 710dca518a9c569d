import { defineConfig } from "vitest/config";

/** Names of files carry the hash of their content, so that browsers keep them for ever; `index.html` is revalidated. */
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsDir: "page",
    license: { fileName: "licenses.md" },
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 400,
  },
  worker: { format: "es" },
  server: { proxy: { "/v1": "http://127.0.0.1:8080", "/readyz": "http://127.0.0.1:8080" } },
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"] },
});
