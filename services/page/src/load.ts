/** Loading of what a screen shows: one request at a time, aborted when the screen changes. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort, reconnections } from "./api/client";
import { credential } from "./api/session";

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Load again whenever `key` changes, and when the service becomes reachable again. The older data stays visible while
 * the same key is loaded again. */
export function useLoad<T>(key: string, read: (abort: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown; isLoading: boolean }>({ key, isLoading: true });
  const [round, setRound] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }));
    reader.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, isLoading: false }),
      (error: unknown) => !abort.signal.aborted && !isAbort(error) && setState({ key, error, isLoading: false }),
    );
    return () => abort.abort();
  }, [key, round, reconnections.value, credential.value]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.key === key;
  return { data: isCurrent ? state.data : undefined, error: isCurrent ? state.error : undefined, isLoading: !isCurrent || state.isLoading, reload };
}

/** Return a value that follows another one after it has been unchanged for a while. */
export function useSettled<T>(value: T, delayMs = 250): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}
