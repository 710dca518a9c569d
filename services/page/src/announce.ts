/** Short messages for screen readers, of what the screen shows to others. */

import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(message: string): void {
  announcement.value = "";
  requestAnimationFrame(() => {
    announcement.value = message;
  });
}
