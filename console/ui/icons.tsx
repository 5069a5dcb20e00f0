/** Paths on a grid of 16, drawn with one stroke. */
const PATHS = {
  forest: "M8 14V9M8 11.5 5.5 9.8M8 10.4l2.3-1.5M8 2.2a4.2 4.2 0 1 0 .01 8.4A4.2 4.2 0 0 0 8 2.2z",
  tokens: "M10.2 8.3a3.3 3.3 0 1 1-2.5-2.5L13 .9h2v2.4h-1.7V5h-1.7z M5.3 10.6h.01",
  clock: "M8 1.8a6.2 6.2 0 1 0 .01 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.6V8l2.3 1.6",
  ended: "M8 1.8a6.2 6.2 0 1 0 .01 12.4A6.2 6.2 0 0 0 8 1.8zM5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6",
  lease: "M2 2.5h5.5L14 9l-5 5-6.5-6.5zM5 5.4h.01",
  plus: "M8 3v10M3 8h10",
  policy: "M3.5 1.8h6l3 3v9.4h-9zM9.3 1.8v3.2h3.2M5.7 8h4.6M5.7 10.6h4.6",
  health: "M1.5 8.5h3l1.8-5 3 9 1.7-4h3.5",
  user: "M8 2a2.8 2.8 0 1 0 .01 5.6A2.8 2.8 0 0 0 8 2zM2.8 14a5.2 5.2 0 0 1 10.4 0",
  team: "M5.5 3.2a2.2 2.2 0 1 0 .01 4.4A2.2 2.2 0 0 0 5.5 3.2zM1 13.2a4.5 4.5 0 0 1 9 0M10.8 3.6a2.1 2.1 0 0 1 0 4M12 9.4a4 4 0 0 1 3 3.8",
  entity: "M8 1.8 13.8 5v6L8 14.2 2.2 11V5zM8 6.1a1.9 1.9 0 1 0 .01 3.8A1.9 1.9 0 0 0 8 6.1z",
  issuer: "M2 4.2h12v8.6H2zM4.5 9.9h4M4.5 7.3h7",
  lock: "M4 7.2h8v6.2H4zM5.7 7V5.2a2.3 2.3 0 0 1 4.6 0V7",
  alert: "M8 2 14.6 13.6H1.4zM8 6.5v3.2M8 11.6h.01",
  info: "M8 1.8a6.2 6.2 0 1 0 .01 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.4v3.4M8 5h.01",
  search: "M7 2.4a4.6 4.6 0 1 0 .01 9.2A4.6 4.6 0 0 0 7 2.4zM10.4 10.4 14 14",
  check: "M3 8.6 6.4 12 13 4.6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.3V2.5h-8v8h2.8",
  log: "M2.5 4h.01M2.5 8h.01M2.5 12h.01M5.5 4h8M5.5 8h8M5.5 12h8",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  close: "M4 4l8 8M12 4l-8 8",
  leave: "M7 2.5H3.5v11H7M6.5 8H14M11.3 5.3 14 8l-2.7 2.7",
  enter: "M9 2.5h3.5v11H9M2 8h7M6.5 5.5 9 8l-2.5 2.5",
} as const;

export type IconName = keyof typeof PATHS;

/** Hidden from screen readers, since text beside it says the same. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
