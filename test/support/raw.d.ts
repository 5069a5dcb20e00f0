declare module "*?raw" {
  const text: string;
  export default text;
}

/** Vite's way to import every module that a pattern names. */
interface ImportMeta {
  glob(pattern: string, options: { readonly eager: true }): Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

declare module "grove:sources" {
  /** Path of the module whose `evaluate` evaluates all sources. */
  export const all: string;
}
