interface WorkingProps {
  /** The running action, without a full stop. */
  readonly text?: string | undefined;
}

/** An animated message about a running action, which is announced to screen readers. */
export function Working({ text = "Waiting for the answer" }: WorkingProps) {
  return (
    <p class="working" role="status">
      <span class="pulse" aria-hidden="true" />
      {text}…
    </p>
  );
}
