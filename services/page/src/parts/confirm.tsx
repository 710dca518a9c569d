/** A question before something is deleted. The dialog keeps the focus inside, and Escape closes it. */

import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./basics";

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function Confirm({ title, text, action, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{title}</h2>
      <p>{text}</p>
      <div class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="danger"
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {action}
        </Button>
      </div>
    </dialog>
  );
}
