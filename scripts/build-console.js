// Builds the console into one module of the Worker, dist/console/files.ts. Wrangler runs it before each build (wrangler.toml), as does
// bundled/make.js, so that dev, serve and deploy have it; tests and type checks run it themselves. Plain JavaScript: Wrangler may start any Node.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const TARGET = join(PROJECT, "dist/console/files.ts");

/** @param {string} entry @returns {string} */
function bundle(entry) {
  const built = buildSync({
    absWorkingDir: PROJECT,
    entryPoints: [entry],
    tsconfig: "console/tsconfig.json",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2023",
    legalComments: "none",
    write: false,
    outdir: "unused",
  });
  return built.outputFiles[0]?.text ?? "";
}

/** @param {string} text @param {"sha256" | "sha384"} algorithm */
const digest = (text, algorithm) => createHash(algorithm).update(text).digest("base64");

/** The name of an asset has a hash of its content, so that caches keep it and a page never loads the asset of another build. */
function build() {
  const assets = [
    { stem: "console", ending: "js", type: "text/javascript; charset=utf-8", text: bundle("console/main.tsx") },
    { stem: "console", ending: "css", type: "text/css; charset=utf-8", text: bundle("console/styles/console.css") },
  ].map((asset) => {
    const mark = digest(asset.text, "sha256")
      .replace(/[^A-Za-z0-9]/g, "")
      .slice(0, 12);
    return {
      ...asset,
      path: `assets/${asset.stem}-${mark}.${asset.ending}`,
      integrity: `sha384-${digest(asset.text, "sha384")}`,
    };
  });
  let page = readFileSync(join(PROJECT, "console/index.html"), "utf8");
  for (const { ending, path, integrity } of assets) {
    page = page.replaceAll(`{{${ending}}}`, `/ui/${path}`).replaceAll(`{{${ending}-integrity}}`, integrity);
  }
  const icon = readFileSync(join(PROJECT, "console/icon.svg"), "utf8");
  const files = [
    { path: "index.html", type: "text/html; charset=utf-8", text: page },
    { path: "icon.svg", type: "image/svg+xml", text: icon },
    ...assets,
  ];
  const lines = files.map(({ path, type, text }) => {
    const gzip = gzipSync(text, { level: 9 }).toString("base64");
    return `  ${JSON.stringify(path)}: { type: ${JSON.stringify(type)}, gzip: ${JSON.stringify(gzip)} },`;
  });
  return [
    "// Made by scripts/build-console.js from console/.",
    "export const CONSOLE_FILES: Readonly<Record<string, { readonly type: string; readonly gzip: string }>> = {",
    ...lines,
    "};\n",
  ].join("\n");
}

/** Writes the file atomically, and only when it has changed. */
function buildConsole() {
  const made = build();
  if (current() === made) return;
  mkdirSync(join(TARGET, ".."), { recursive: true });
  const next = `${TARGET}.${process.pid}`;
  writeFileSync(next, made);
  renameSync(next, TARGET);
}

function current() {
  try {
    return readFileSync(TARGET, "utf8");
  } catch {
    return undefined;
  }
}

buildConsole();
