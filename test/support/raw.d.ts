declare module "*?raw" {
  const text: string;
  export default text;
}

/** Vite's way to import every module that a pattern names. */
interface ImportMeta {
  glob(pattern: string, options: { readonly eager: true }): Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

declare module "grove:sources" {
  /** Names of the module with all sources, one for each time that an isolate evaluates it. */
  export const all: readonly string[];
}
