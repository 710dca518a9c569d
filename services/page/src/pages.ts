/** Lists that the service gives in pages, with cursors. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, isAbort, reconnections } from "./api/client";
import { credential } from "./api/session";

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string;
}

export interface Pages<T> {
  readonly items: readonly T[];
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly restart: () => void;
}

/** Load the first page for a key, and a further one at each call of `more`. A listing that expired begins again. */
export function usePages<T>(key: string, read: (cursor: string, abort: AbortSignal) => Promise<Page<T>>): Pages<T> {
  const [items, setItems] = useState<readonly T[]>([]);
  const [next, setNext] = useState("");
  const [isLoading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  const running = useRef<AbortController | null>(null);
  const load = async (cursor: string, before: readonly T[]) => {
    running.current?.abort();
    const abort = (running.current = new AbortController());
    setLoading(true);
    setError(null);
    try {
      const page = await reader.current(cursor, abort.signal);
      if (abort.signal.aborted) return;
      setItems([...before, ...page.items]);
      setNext(page.next);
      setLoading(false);
    } catch (failure) {
      if (isAbort(failure) || abort.signal.aborted) return;
      if (failure instanceof ApiError && failure.status === 410 && cursor) return load("", []);
      setError(failure);
      setLoading(false);
    }
  };
  useEffect(() => {
    void load("", []);
    return () => running.current?.abort();
  }, [key, round, reconnections.value, credential.value]);
  return { items, isLoading, error, hasMore: next !== "", more: () => void load(next, items), restart: () => setRound(round + 1) };
}
