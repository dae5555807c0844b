// Before the first paint: the chosen appearance, so that the page does not flash in the other one.
const chosen = localStorage.getItem("theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
