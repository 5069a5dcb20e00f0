interface TabsProps {
  readonly label: string;
  readonly current: string;
  readonly tabs: readonly { readonly name: string; readonly title: string; readonly href: string }[];
}

/** Parts of a page, each at an address of its own. */
export function Tabs({ label, current, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, title, href }) => (
        <a key={name} href={href} aria-current={name === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
