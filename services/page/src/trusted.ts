/** The one place that turns an address into a script. The page's policy forbids all others. */

interface ScriptPolicy {
  createScriptURL(address: string): URL;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL: (address: string) => string }): ScriptPolicy;
}

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
const policy = factory?.createPolicy("graphtide", { createScriptURL: ofThisPage });

/** Return the address of a script of this page. Throws for every other one. */
export function trustedScript(address: string): string | URL {
  return policy ? policy.createScriptURL(address) : ofThisPage(address);
}

function ofThisPage(address: string): string {
  const whole = new URL(address, document.baseURI);
  if (whole.origin !== location.origin || !/\/page\/[\w.-]+\.js$/.test(whole.pathname)) throw new TypeError(`not a script of this page: ${address}`);
  return whole.href;
}
