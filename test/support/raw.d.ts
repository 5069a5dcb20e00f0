declare module "*?raw" {
  const text: string;
  export default text;
}

/** Vite's way to import every module that a pattern names. */
interface ImportMeta {
  glob(pattern: string, options: { readonly eager: true }): Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

declare module "grove:source-map" {
  /** The map of the module with all sources, and what stacks call that module. */
  export const map: string;
  export const name: string;
}
