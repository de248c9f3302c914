// Before anything is painted: the theme that was chosen here. Without a choice the system's.
(() => {
    let chosen = null;
    try {
        chosen = localStorage.getItem("holdpoint.theme");
    } catch {
        // A browser that keeps nothing has no choice to remember.
    }
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
