// The components that pages are made of.
export * from "./allowed.tsx";
export * from "./bars.tsx";
export * from "./card.tsx";
export * from "./controls.tsx";
export * from "./data-table.tsx";
export * from "./download.ts";
export * from "./facts.tsx";
export * from "./icons.tsx";
export * from "./keep-focus.ts";
export * from "./line-chart.tsx";
export * from "./menu.tsx";
export * from "./notice.tsx";
export * from "./page-head.tsx";
export * from "./time.tsx";
export * from "./use-draft.ts";
export * from "./use-drawn-rows.ts";
export * from "./use-load.ts";
