import { beforeEach, expect, it, vi } from "vitest";
import { ApiError, address, getJson } from "../src/api/client";
import { credential, credentialHeader, signIn, signInReason, signOut } from "../src/api/session";
import { bodyOf } from "../src/asking";

beforeEach(() => {
  sessionStorage.clear();
  credential.value = "";
  signInReason.value = null;
});

it("addresses encode every segment and leave out empty parameters", () => {
  expect(address(["v1", "graphs", "notes", "documents", "a/b ?#.md"], { prefix: "", limit: 5, state: undefined })).toBe(
    "v1/graphs/notes/documents/a%2Fb%20%3F%23.md?limit=5",
  );
});

it("the credential is sent in a header and in no address", async () => {
  signIn("gt_secret");
  const sent = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("{}"));
  await getJson("v1/graphs");
  const [path, init] = sent.mock.calls[0] ?? [];
  expect(path).toBe("v1/graphs");
  expect(init?.headers).toEqual({ "x-api-key": "gt_secret" });
  expect(sessionStorage.length).toBe(1);
  signOut();
  expect(sessionStorage.length).toBe(0);
  sent.mockRestore();
});

it("tokens and keys have their own headers", () => {
  expect(credentialHeader("aa.bb.cc")).toEqual({ authorization: "Bearer aa.bb.cc" });
  expect(credentialHeader("gt_aa")).toEqual({ "x-api-key": "gt_aa" });
  expect(credentialHeader("")).toEqual({});
});

it("a refused credential opens the sign-in with the service's reason", async () => {
  const body = { error: { code: "unauthenticated", message: "the credential is not valid" } };
  const sent = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(JSON.stringify(body), { status: 401 }));
  await expect(getJson("v1/graphs")).rejects.toBeInstanceOf(ApiError);
  expect(signInReason.value).toBe("the credential is not valid");
  sent.mockRestore();
});

it("a question's body has only what was chosen", () => {
  const question = { question: "Who?", mode: "auto", top_k: 5, explain: false, as_of: "", sources: " a , ,b" };
  expect(bodyOf(question)).toEqual({ question: "Who?", mode: "auto", top_k: 5, filters: { sources: ["a", "b"] } });
  expect(bodyOf({ ...question, sources: "", explain: true, as_of: "2019" })).toEqual({
    question: "Who?",
    mode: "auto",
    top_k: 5,
    explain: true,
    filters: { as_of: "2019" },
  });
});
