interface WorkingProps {
  /** What is being done, without a full stop; absent where there is no more to say. */
  readonly text?: string | undefined;
}

/** Says at once that something is being done. It is announced, and moves as long as it lasts. */
export function Working({ text = "Waiting for the answer" }: WorkingProps) {
  return (
    <p class="working" role="status">
      <span class="pulse" aria-hidden="true" />
      {text}…
    </p>
  );
}
